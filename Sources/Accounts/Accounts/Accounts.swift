package import Base
import Crypto
package import JSON
import Requests
package import Storage
package import Tiers

/// An account as its owner and an operator see it.
package struct Account: Sendable {
  package let id: Identifier
  package let username: String?
  package let root: Identifier
  package let usageByteCount: Int64
  /// The part of the usage that is in earlier versions of files.
  package let historyByteCount: Int64
  package let whenFull: WhenFull
  /// The part of the usage that is in the trash.
  package let trashByteCount: Int64
  package let created: Instant
  /// The invite that opened the account, if any.
  package let invite: Identifier?
  /// When an operator blocked the account's writes; nil if they are not blocked.
  package let suspended: Instant?

  /// The id of the account that a key opens: a UUID of version 8 (RFC 9562, section 5.8) made of the first bits of
  /// SHA-256 of `coffer account:` and the key. So no one can choose an id, to which purchases are bound. Anyone who
  /// knows an id can check which first key it belongs to, without trusting the server.
  package static func identifier(firstKey: [UInt8]) -> Identifier {
    var bytes = Array(SHA256.hash(Array("coffer account:".utf8) + firstKey).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Identifier(bytes: bytes)!
  }

  fileprivate static let columns =
    "id, username_shown, root_id, usage_bytes, created_ms, invite_id, "
    + "suspended_ms, history_bytes, purges_history, trash_bytes"

  fileprivate init(row: borrowing Row) throws {
    id = try row.id(0)
    username = try row.optionalText(1)
    root = try row.id(2)
    usageByteCount = try row.integer(3)
    created = try row.instant(4)
    invite = try row.optionalID(5)
    suspended = try row.optionalInstant(6)
    historyByteCount = try row.integer(7)
    whenFull = try row.integer(8) == 1 ? .purge : .keep
    trashByteCount = try row.integer(9)
  }

  package static func find(_ queryable: some Queryable, _ id: Identifier) throws -> Account? {
    try queryable.first("SELECT \(columns) FROM sync.accounts WHERE id = $1", .id(id)) { row in
      try Account(row: row)
    }
  }

  /// Finds an account by its username, in any case.
  package static func find(_ queryable: some Queryable, _ username: Username) throws -> Account? {
    try queryable.first(
      "SELECT \(columns) FROM sync.accounts WHERE username = $1", .text(username.normalized)
    ) { row in try Account(row: row) }
  }

  /// The first accounts, at most `limit`, for whose ids a short one may stand. At most a thousand are read.
  package static func find(
    _ queryable: some Queryable, _ short: ShortIdentifier, limit: Int
  ) throws -> [Account] {
    let accounts = try queryable.rows(
      "SELECT \(columns) FROM sync.accounts WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT 1000",
      .id(short.first), .id(short.last)
    ) { row in try Account(row: row) }
    return Array(accounts.lazy.filter { short.standsFor($0.id) }.prefix(limit))
  }

  /// The total size of all contents that owners are charged for.
  package static func contentByteCount(_ database: Database, fee: Int64) throws -> Int64 {
    try database.read { reader in
      try reader.number(
        """
        SELECT CAST(coalesce(sum(usage_bytes - record_count * $1), 0) AS BIGINT) FROM sync.accounts
        """, .integer(fee))
    }
  }

  /// The number of accounts, including those after an id. It counts rows, so only operators may ask for it.
  package static func count(
    _ queryable: some Queryable, after id: Identifier = Identifier(high: 0, low: 0)
  ) throws -> Int64 {
    try queryable.number("SELECT count(*) FROM sync.accounts WHERE id > $1", .id(id))
  }

  /// Blocks the account's writes from `moment` on, or allows them if it is nil. Returns false if nothing changed.
  package static func suspend(
    _ transaction: Transaction, _ id: Identifier, since moment: Instant?
  ) throws -> Bool {
    transaction.report(News(of: id, .account))
    let changes = moment == nil ? "IS NOT NULL" : "IS NULL"
    return try transaction.execute(
      "UPDATE sync.accounts SET suspended_ms = $2 WHERE id = $1 AND suspended_ms \(changes)",
      .id(id), .instant(moment)) == 1
  }

  /// Accounts after `after`, oldest first; at most `limit`.
  package static func list(
    _ queryable: some Queryable, after: Account? = nil, limit: Int
  ) throws -> [Account] {
    let created = after?.created ?? .distantPast
    let id = after?.id ?? Identifier(high: 0, low: 0)
    return try queryable.rows(
      """
      SELECT \(columns) FROM sync.accounts
      WHERE created_ms > $1 OR (created_ms = $1 AND id > $2)
      ORDER BY created_ms, id LIMIT $3
      """,
      .instant(created), .id(id), .integer(Int64(limit))
    ) { row in try Account(row: row) }
  }
}

extension Account {
  /// What happens to the versions of documents and to the trash if a write does not fit.
  package enum WhenFull: String, CaseIterable, Sendable {
    /// They stay, and the write is refused.
    case keep
    /// The oldest are deleted to make room.
    case purge
  }

  /// Stores the owner's choice. The account's row must be locked.
  package static func choose(
    _ choice: WhenFull, of id: Identifier, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE sync.accounts SET purges_history = $2 WHERE id = $1", .id(id),
      .integer(choice == .purge ? 1 : 0))
  }
}

/// The name of an account for people: 1 to 32 of `a-z 0-9 . _ -`, unique regardless of case.
package struct Username: Sendable {
  package let shown: String
  package let normalized: String

  package static let characterCountMax = 32
  private static let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789._-".utf8)

  package init?(_ text: String) {
    let lower = text.lowercased()
    // Checked after lower-casing, which turns the Kelvin sign into a plain k.
    guard lower.utf8.allSatisfy(Self.allowed.contains), text.utf8.allSatisfy({ $0 < 0x80 }),
      1...Self.characterCountMax ~= lower.utf8.count
    else { return nil }
    shown = text
    normalized = lower
  }
}

/// Everything needed to open an account.
package struct NewAccount: Sendable {
  package let id: Identifier
  package let username: Username?
  package let root: Identifier
  package let publicKey: [UInt8]

  package init(id: Identifier, username: Username?, root: Identifier, publicKey: [UInt8]) {
    self.id = id
    self.username = username
    self.root = root
    self.publicKey = publicKey
  }

  /// Writes the account, its first key, its root folder, and the invite that opened it.
  ///
  /// - Throws: An `AccountRefusal` if the username, the key, the account's id or the root's id is taken.
  package func create(
    _ transaction: Transaction, by invite: Identifier? = nil, catalogue: Catalogue, now: Instant
  ) throws -> Account {
    if try Device.find(transaction, publicKey) != nil { throw AccountRefusal.keyRegistered }
    if let username, try Account.find(transaction, username) != nil {
      throw AccountRefusal.usernameTaken
    }
    if try Account.find(transaction, id) != nil { throw AccountRefusal.accountExists }
    // The record of its deletion stays, and would count for a new account of the same id.
    if try Departure.find(id, reading: transaction) != nil { throw AccountRefusal.accountExists }
    let fee = catalogue.metadataFeeByteCount
    // On PostgreSQL two transactions can pass the checks above together. Here one of them waits.
    let inserted = try transaction.execute(
      """
      INSERT INTO sync.accounts
        (id, username, username_shown, root_id, seq, usage_bytes, created_ms, invite_id)
      VALUES ($1, $2, $3, $4, 0, 0, $5, $6)
      ON CONFLICT DO NOTHING
      """,
      .id(id), .text(username?.normalized), .text(username?.shown), .id(root), .instant(now),
      .id(invite))
    guard inserted == 1 else {
      throw try Account.find(transaction, id) != nil ? AccountRefusal.accountExists : .usernameTaken
    }
    try Device.add(transaction, publicKey, to: id, label: "first", statement: nil, now: now)
    var owners = try LockedOwners(transaction, [id])
    let sequence = try owners.nextSequence(of: id)
    try insertRoot(transaction, sequence)
    try owners.change(id) { owner in
      owner.charge(fee, records: 1, reason: .recordCreated, file: root, sequence: sequence)
    }
    try owners.save(transaction, now: now)
    guard let account = try Account.find(transaction, id) else { throw RequestRefusal.unknownKey }
    return account
  }

  /// Throws if the id is taken: ids are global, so another account may have been faster.
  private func insertRoot(_ transaction: Transaction, _ sequence: Int64) throws {
    let count = try transaction.execute(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, height, seq, content_version, content_bytes, deleted)
      VALUES ($1, $2, $1, 'folder', 0, $3, 0, 0, 0)
      ON CONFLICT (id) DO NOTHING
      """, .id(root), .id(id), .integer(sequence))
    guard count == 1 else { throw AccountRefusal.rootExists }
  }
}

extension Account {
  /// `protocolHistory` is what protocols keep of what was replaced, besides `historyByteCount`.
  package func json(
    _ cap: Cap, protocolHistory: Int64 = 0, graceEnd: Instant? = nil, devices: [Device]? = nil,
    transfers: [Transfers.Month]? = nil
  ) -> JSONValue {
    let history = historyByteCount + protocolHistory
    var members: [JSONValue.Member] = [
      .init("account", .string(id.description)),
      .init("username", username.map { .string($0) } ?? .null),
      .init("root", .string(root.description)), .init("usage", .integer(usageByteCount)),
      .init("cap", .integer(cap.byteCount)), .init("plan", .string(cap.planID)),
      .init("reason", .string(cap.reason.rawValue)),
      .init("created", .string(created.description)),
      .init(
        "usage_parts",
        [
          "live": .integer(usageByteCount - history - trashByteCount),
          "history": .integer(history), "trash": .integer(trashByteCount),
        ]), .init("when_full", .string(whenFull.rawValue)),
    ]
    if let graceEnd { members.append(.init("grace_until", .string(graceEnd.description))) }
    if let devices { members.append(.init("devices", .array(devices.map(\.json)))) }
    if let transfers { members.append(.init("transfer", .array(transfers.map(\.json)))) }
    return .object(members)
  }
}
