import Accounts
import Base
import Storage
import Tiers

enum KeyPackageRows {
  /// The most that a device offers at a time, besides its last resort.
  static let countMax = 100

  /// How many packages a device offers besides its last resort, and whether it has one.
  static func offered(
    _ queryable: some Queryable, of device: [UInt8]
  ) throws -> (count: Int64, hasLastResort: Bool) {
    let kinds = try queryable.rows(
      "SELECT last_resort FROM sync.key_packages WHERE public_key = $1 AND claimed_ms IS NULL",
      .blob(device)
    ) { row in try row.integer(0) == 1 }
    return (Int64(kinds.count { !$0 }), kinds.contains(true))
  }
}

struct KeyPackageOffer: Sendable {
  let packages: [KeyPackage]
  /// Takes the place of the last resort before; nil leaves it.
  let lastResort: KeyPackage?

  /// Stores those that are new, and returns their number. The account's row is held; the caller saves the owners.
  func store(
    _ transaction: Transaction, of device: [UInt8], _ account: Identifier,
    _ owners: inout LockedOwners, host: ProtocolHost, now: Instant
  ) throws -> Int {
    let fee = host.catalogue.metadataFeeByteCount
    let all = packages.map { ($0, false) } + (lastResort.map { [($0, true)] } ?? [])
    let known = try known(transaction, of: device)
    let fresh = all.filter { !known.contains($0.0.digest) }
    let before = try KeyPackageRows.offered(transaction, of: device)
    guard before.count + Int64(fresh.count { !$0.1 }) <= KeyPackageRows.countMax else {
      throw MailboxRefusal.tooManyKeyPackages(max: KeyPackageRows.countMax)
    }
    guard !fresh.isEmpty else { return 0 }
    var load = Load(
      count: Int64(fresh.count), byteCount: fresh.reduce(0) { $0 + $1.0.chargedByteCount })
    if fresh.contains(where: { $0.1 }) {
      let withdrawn = try transaction.rows(
        """
        DELETE FROM sync.key_packages WHERE public_key = $1 AND last_resort = 1 RETURNING bytes
        """, .blob(device)
      ) { row in try row.integer(0) }
      load += -Load(count: Int64(withdrawn.count), byteCount: withdrawn.reduce(0, +))
    }
    let charge = MailboxCharge(packages: load)
    try owners.require(account).requireRoom(
      for: charge.byteCount(fee: fee), askedBy: account, transaction, catalogue: host.catalogue,
      now: now)
    let number = try charge.make(
      transaction, &owners, of: account, reason: .keyPackagesOffered, file: account, fee: fee)
    try transaction.insert(
      fresh.map { offered, isLastResort in
        [
          .blob(device), .blob(offered.digest), .integer(number),
          .integer(isLastResort ? 1 : 0), .integer(offered.chargedByteCount),
          .blob(offered.bytes),
        ]
      }, of: account,
      into: """
        key_packages (account_id, public_key, digest, number, last_resort, bytes, package)
        """)
    try transaction.execute(
      """
      INSERT INTO sync.mailboxes (public_key, account_id) VALUES ($1, $2)
      ON CONFLICT (public_key) DO NOTHING
      """, .blob(device), .id(account))
    return fresh.count
  }

  /// The digests of those that the device offers already, or offered and were given.
  private func known(
    _ transaction: Transaction, of device: [UInt8]
  ) throws -> Set<[UInt8]> {
    let digests = packages.map(\.digest) + (lastResort.map { [$0.digest] } ?? [])
    let known = try transaction.rows(in: digests.map { .blob($0) }, .blob(device)) { list in
      "SELECT digest FROM sync.key_packages WHERE public_key = $1 AND digest IN (\(list))"
    } row: { row in
      try row.blob(0)
    }
    return Set(known)
  }
}
