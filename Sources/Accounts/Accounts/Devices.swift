package import Base
package import JSON
import Requests
package import Storage

/// A key that may act for an account, or once could.
package struct Device: Sendable {
  package let publicKey: [UInt8]
  package let label: String
  package let added: Instant
  package let revoked: Instant?
  /// The statement that brought the key; nil for the first, and for one that an operator added.
  package let statement: Statement?
  /// Whether an operator added the key, so that no key of the account signed for it.
  package let isByOperator: Bool
  /// The key that revoked this one, and its signature.
  package let revocation: KeySignature?
  /// When the device registered the push id by which it is woken; nil if it is not woken.
  let pushRegistered: Instant?

  /// The signatures of both keys when one authorized the other.
  package struct Statement: Sendable {
    package let author: KeySignature
    /// The new key's own signature of the same statement, so that no one registers another's key.
    package let proof: [UInt8]

    package init(author: KeySignature, proof: [UInt8]) {
      self.author = author
      self.proof = proof
    }
  }

  package static let labelCharacterCountMax = 64
  /// The most keys that an account may hold at once, revoked ones not counted.
  static let countMax = 64
  /// The most keys that an account may ever have. Revoked keys stay on record.
  package static let countInAllMax = 1000

  fileprivate static let columns = """
    public_key, label, added_ms, revoked_ms, statement_created_s, statement_author, \
    statement_signature, statement_proof, revocation_created_s, revocation_author, \
    revocation_signature, by_operator, (SELECT p.registered_ms FROM sync.push_ids AS p
      WHERE p.public_key = device_keys.public_key)
    """

  package init(
    publicKey: [UInt8], label: String, added: Instant, revoked: Instant?, statement: Statement?,
    isByOperator: Bool, revocation: KeySignature?
  ) {
    self.publicKey = publicKey
    self.label = label
    self.added = added
    self.revoked = revoked
    self.statement = statement
    self.isByOperator = isByOperator
    self.revocation = revocation
    pushRegistered = nil
  }

  fileprivate init(row: borrowing Row) throws {
    publicKey = try row.blob(0)
    label = try row.text(1)
    added = try row.instant(2)
    revoked = try row.optionalInstant(3)
    statement =
      if let created = try row.optionalInteger(4) {
        Statement(
          author: KeySignature(
            created: created, author: try row.blob(5), signature: try row.blob(6)),
          proof: try row.blob(7))
      } else {
        nil
      }
    revocation =
      if let created = try row.optionalInteger(8) {
        KeySignature(created: created, author: try row.blob(9), signature: try row.blob(10))
      } else {
        nil
      }
    isByOperator = try row.integer(11) == 1
    pushRegistered = try row.optionalInstant(12)
  }

  /// The account's keys that are not revoked.
  package static func list(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [Device] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.device_keys
      WHERE account_id = $1 AND revoked_ms IS NULL ORDER BY added_ms, public_key LIMIT $2
      """, .id(account), .integer(Int64(countMax))
    ) { row in try Device(row: row) }
  }

  /// The account's keys, including revoked ones.
  package static func listAll(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [Device] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.device_keys
      WHERE account_id = $1 ORDER BY added_ms, public_key LIMIT $2
      """, .id(account), .integer(Int64(countInAllMax))
    ) { row in try Device(row: row) }
  }

  /// A key, revoked or not, with the account that it belongs or belonged to.
  package static func find(
    _ queryable: some Queryable, _ publicKey: [UInt8]
  ) throws -> (device: Device, account: Identifier)? {
    try queryable.first(
      "SELECT \(columns), account_id FROM sync.device_keys WHERE public_key = $1",
      .blob(publicKey)
    ) { row in (try Device(row: row), try row.id(13)) }
  }

  /// Whether rows are left of a key whose account was erased: what the erasure has yet to delete, and its place in
  /// chains of others. They are found by the key alone, and would count for the account that registers it next.
  package static func hasRemains(_ queryable: some Queryable, _ publicKey: [UInt8]) throws -> Bool {
    let places = [
      ("mailboxes", "public_key"), ("mailbox_messages", "sender_key"),
      ("key_packages", "public_key"), ("chain_members", "public_key"),
      ("document_devices", "writer_id IS NOT NULL AND author_key"),
    ]
    return try places.contains { table, column in
      try queryable.first(
        "SELECT 1 FROM sync.\(table) WHERE \(column) = $1 LIMIT 1", .blob(publicKey)
      ) { _ in true } ?? false
    }
  }

  /// The caller holds the account's row, or has not committed the account yet. An operator adds a key, without a
  /// statement, for a user who lost every device.
  @discardableResult
  package static func add(
    _ transaction: Transaction, _ publicKey: [UInt8], to account: Identifier, label: String,
    statement: Statement?, isByOperator: Bool = false, now: Instant
  ) throws -> Device {
    let live = try list(transaction, of: account).count
    guard live < countMax else { throw AccountRefusal.tooManyKeys(max: countMax) }
    let all = try transaction.rows(
      "SELECT public_key FROM sync.device_keys WHERE account_id = $1 LIMIT $2",
      .id(account), .integer(Int64(countInAllMax))
    ) { row in try row.blob(0) }.count
    guard all < countInAllMax else { throw AccountRefusal.keysUsedUp(max: countInAllMax) }
    if try RecoveryKey.find(transaction, publicKey) != nil { throw AccountRefusal.keyRegistered }
    if try hasRemains(transaction, publicKey) { throw AccountRefusal.keyRegistered }
    let device = Device(
      publicKey: publicKey, label: label, added: now, revoked: nil, statement: statement,
      isByOperator: isByOperator, revocation: nil)
    // A revoked key stays on record and never comes back, for any account.
    guard try device.insert(transaction, of: account, now: now) else {
      throw AccountRefusal.keyRegistered
    }
    return device
  }

  /// Writes the row. Returns false if the key is on record already.
  package func insert(
    _ transaction: Transaction, of account: Identifier, now: Instant
  ) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO sync.device_keys
        (public_key, account_id, label, added_ms, revoked_ms, statement_created_s,
         statement_author, statement_signature, statement_proof, revocation_created_s,
         revocation_author, revocation_signature, last_session_ms, by_operator)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
      ON CONFLICT (public_key) DO NOTHING
      """, .blob(publicKey), .id(account), .text(label), .instant(added), .instant(revoked),
      .integer(statement?.author.created), .blob(statement?.author.author),
      .blob(statement?.author.signature), .blob(statement?.proof), .integer(revocation?.created),
      .blob(revocation?.author), .blob(revocation?.signature), .instant(now),
      .integer(isByOperator ? 1 : 0)) == 1
  }

  /// Revokes a key and ends its sessions. An account keeps at least one key.
  package static func revoke(
    _ transaction: Transaction, _ publicKey: [UInt8], of account: Identifier,
    by revocation: KeySignature, now: Instant
  ) throws {
    let live = try list(transaction, of: account)
    guard live.contains(where: { $0.publicKey == publicKey }) else {
      throw AccountRefusal.keyNotFound
    }
    guard live.count > 1 else { throw AccountRefusal.lastKey }
    try transaction.execute(
      """
      UPDATE sync.device_keys SET revoked_ms = $2, revocation_created_s = $3,
        revocation_author = $4, revocation_signature = $5
      WHERE public_key = $1
      """,
      .blob(publicKey), .instant(now), .integer(revocation.created), .blob(revocation.author),
      .blob(revocation.signature))
    try transaction.execute(
      "DELETE FROM sync.sessions WHERE account_id = $1 AND public_key = $2",
      .id(account), .blob(publicKey))
    try transaction.execute("DELETE FROM sync.push_ids WHERE public_key = $1", .blob(publicKey))
    // Its mailbox and its key packages go in slices.
    try transaction.execute(
      "UPDATE sync.mailboxes SET closed_ms = $2 WHERE public_key = $1", .blob(publicKey),
      .instant(now))
    transaction.report(News(of: account, .account))
  }
}

extension Device {
  /// The key as its own account sees it.
  package var json: JSONValue {
    [
      "public_key": .base64(publicKey), "label": .string(label),
      "added": .string(added.description), "by_operator": .bool(isByOperator),
      "push_registered": pushRegistered.map { .string($0.description) } ?? .null,
    ]
  }

  /// The key as other accounts see it: what they need to check that it belongs to the account.
  package var publicJSON: JSONValue {
    [
      "public_key": .base64(publicKey), "added": .string(added.description),
      "revoked": revoked.map { .string($0.description) } ?? .null,
      "device": statement.map { statement in
        .object(statement.author.members + [.init("proof", .base64(statement.proof))])
      } ?? .null,
      "revocation": revocation.map { .object($0.members) } ?? .null,
      "by_operator": .bool(isByOperator),
    ]
  }
}
