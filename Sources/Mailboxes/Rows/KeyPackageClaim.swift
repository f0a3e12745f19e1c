package import Accounts
package import Base
package import Storage
import Tiers

/// A key package that was claimed.
package struct ClaimedPackage: Equatable, Sendable {
  package let bytes: [UInt8]
  /// Whether it is the device's last resort, which others get as well.
  package let isLastResort: Bool
}

/// Gives key packages of devices to accounts, within a transaction that holds the rows of both accounts.
package struct KeyPackageClaim {
  let host: ProtocolHost
  let transaction: Transaction
  let claimer: Identifier
  let now: Instant

  /// How many packages an account may claim in a day (UTC): of one device, and of all.
  static let perDevice: Int64 = 20
  static let perDay: Int64 = 1000
  private static let day: Int64 = 86_400_000

  /// The account of a device, whose row must be held to claim a package of it.
  ///
  /// - Throws: `MailboxRefusal.deviceNotFound` if there is none, it is revoked, or its account does not know the
  ///   claimer or has blocked it. Which, the claimer is not told.
  package static func account(
    of device: [UInt8], for claimer: Identifier, _ queryable: some Queryable
  ) throws -> Identifier {
    let found = try Receiver.find([device], from: claimer, queryable).first
    guard let found, !found.isRevoked else { throw MailboxRefusal.deviceNotFound }
    return found.account
  }

  /// Claims the oldest package that a device offers, or its last resort if there is no other. A package is given once.
  /// The device's account is charged for it no more, and is told. The caller saves the owners.
  ///
  /// - Throws: A `MailboxRefusal` if the device is not one for the claimer, it offers none, or the claimer had as many
  ///   as it may today. An `AccountRefusal` if the claimer is suspended.
  package func claim(
    of device: [UInt8], _ owners: inout LockedOwners
  ) throws -> ClaimedPackage {
    try owners.requireWritable([], by: claimer, transaction)
    let account = try Self.account(of: device, for: claimer, transaction)
    _ = try owners.require(account)
    let next = try transaction.first(
      """
      SELECT digest, package, last_resort, bytes FROM sync.key_packages
      WHERE public_key = $1 AND claimed_ms IS NULL ORDER BY last_resort, number, digest LIMIT 1
      """, .blob(device)
    ) { row in
      (
        digest: try row.blob(0), package: try row.blob(1),
        isLastResort: try row.integer(2) == 1, byteCount: try row.integer(3)
      )
    }
    guard let next else { throw MailboxRefusal.noKeyPackage }
    try count(device, of: account)
    if !next.isLastResort {
      try transaction.execute(
        """
        UPDATE sync.key_packages SET claimed_ms = $3, package = NULL, bytes = 0
        WHERE public_key = $1 AND digest = $2
        """, .blob(device), .blob(next.digest), .instant(now))
      let charge = MailboxCharge(packages: -Load(count: 1, byteCount: next.byteCount))
      try charge.make(
        transaction, &owners, of: account, reason: .keyPackageClaimed, file: account,
        fee: host.catalogue.metadataFeeByteCount)
    }
    return ClaimedPackage(bytes: next.package, isLastResort: next.isLastResort)
  }

  private func count(_ device: [UInt8], of owner: Identifier) throws {
    let today = now.milliseconds / Self.day
    let last = try transaction.first(
      "SELECT claim_day, claim_count FROM sync.mailbox_totals WHERE account_id = $1",
      .id(claimer)
    ) { row in (day: try row.integer(0), count: try row.integer(1)) }
    let isFirst = last?.day != today
    let inAll = isFirst ? 0 : last?.count ?? 0
    let ofDevice =
      try isFirst
      ? 0
      : transaction.first(
        """
        SELECT claim_count FROM sync.key_package_claims
        WHERE account_id = $1 AND public_key = $2 AND day = $3
        """, .id(claimer), .blob(device), .integer(today)
      ) { row in try row.integer(0) } ?? 0
    guard inAll < Self.perDay, ofDevice < Self.perDevice else {
      let rest = (today + 1) * Self.day - now.milliseconds
      throw MailboxRefusal.claimsLimited(retryAfterSeconds: Int(rest / 1000) + 1)
    }
    if isFirst {
      try transaction.execute(
        "DELETE FROM sync.key_package_claims WHERE account_id = $1", .id(claimer))
    }
    try transaction.execute(
      """
      INSERT INTO sync.key_package_claims (account_id, public_key, day, claim_count, owner_id)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (account_id, public_key) DO UPDATE SET claim_count = excluded.claim_count,
        day = excluded.day
      """, .id(claimer), .blob(device), .integer(today), .integer(ofDevice + 1),
      .id(owner))
    try transaction.execute(
      """
      INSERT INTO sync.mailbox_totals (account_id, seq, claim_day, claim_count)
      VALUES ($1, 0, $2, $3)
      ON CONFLICT (account_id) DO UPDATE SET claim_day = excluded.claim_day,
        claim_count = excluded.claim_count
      """, .id(claimer), .integer(today), .integer(inAll + 1))
  }
}
