package import Base
package import JSON
package import Storage

/// The accounts whose invitations an account refuses from then on. Shares that were accepted before stay.
package enum Blocks {
  static let countMax = 1000

  package static func has(
    _ queryable: some Queryable, _ account: Identifier, _ blocked: Identifier
  ) throws -> Bool {
    try queryable.hasRow(
      "SELECT 1 FROM sync.blocks WHERE account_id = $1 AND blocked_id = $2", .id(account),
      .id(blocked))
  }

  /// Takes a number of the account's sequence, so that no invitation is accepted by an older check.
  package static func add(
    _ transaction: Transaction, _ blocked: Identifier, to account: Identifier,
    _ owners: LockedOwners, now: Instant
  ) throws {
    guard try Account.find(transaction, blocked) != nil else {
      throw AccountRefusal.accountNotFound
    }
    guard try !has(transaction, account, blocked) else { return }
    guard try ids(transaction, account).count < countMax else {
      throw AccountRefusal.tooManyBlocks(max: countMax)
    }
    try transaction.execute(
      "INSERT INTO sync.blocks (account_id, blocked_id, since_ms) VALUES ($1, $2, $3)",
      .id(account), .id(blocked), .instant(now))
    var owners = owners
    _ = try owners.nextSequence(of: account)
    try owners.save(transaction, now: now)
  }

  package static func remove(
    _ transaction: Transaction, _ blocked: Identifier, from account: Identifier
  ) throws {
    try transaction.execute(
      "DELETE FROM sync.blocks WHERE account_id = $1 AND blocked_id = $2",
      .id(account), .id(blocked))
  }

  package static func list(_ reader: Reader, of account: Identifier) throws -> JSONValue {
    ["blocks": .array(try ids(reader, account).map { .string($0.description) })]
  }

  private static func ids(
    _ queryable: some Queryable, _ account: Identifier
  ) throws -> [Identifier] {
    try queryable.ids(
      "SELECT blocked_id FROM sync.blocks WHERE account_id = $1 ORDER BY blocked_id LIMIT $2",
      .id(account), .integer(Int64(countMax)))
  }
}
