import Accounts
import Base
import Storage

/// How far the versions of a device go.
struct DocumentDevice: Sendable {
  let author: [UInt8]
  let counter: Int64
  /// The highest counter of its deletions whose rows have gone; 0 if there is none.
  let collected: Int64
  /// Whether any of its versions is current; true also where that was not asked.
  var hasCurrent = true

  /// The devices whose versions an account holds or held, in the order of their keys: at most as many as a clock names.
  static func all(_ queryable: some Queryable, of account: Identifier) throws -> [DocumentDevice] {
    try queryable.rows(
      """
      SELECT author_key, counter, collected, CASE WHEN EXISTS (
          SELECT 1 FROM sync.document_versions AS v
          WHERE v.account_id = document_devices.account_id
            AND v.author_key = document_devices.author_key AND v.replaced_ms IS NULL)
        THEN 1 ELSE 0 END
      FROM sync.document_devices WHERE account_id = $1 ORDER BY author_key
      """, .id(account)
    ) { row in
      DocumentDevice(
        author: try row.blob(0), counter: try row.integer(1), collected: try row.integer(2),
        hasCurrent: try row.integer(3) == 1)
    }
  }

  static func own(_ queryable: some Queryable, of account: Identifier) throws -> [DocumentDevice] {
    try queryable.rows(
      """
      SELECT author_key, counter, collected FROM sync.document_devices
      WHERE account_id = $1 AND writer_id IS NULL ORDER BY author_key
      """, .id(account)
    ) { row in
      DocumentDevice(
        author: try row.blob(0), counter: try row.integer(1), collected: try row.integer(2))
    }
  }

  /// The highest counter of a device; 0 if there is no version of it.
  static func counter(
    _ queryable: some Queryable, of author: [UInt8], _ account: Identifier
  ) throws -> Int64 {
    try queryable.first(
      "SELECT counter FROM sync.document_devices WHERE account_id = $1 AND author_key = $2",
      .id(account), .blob(author)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Whether some device of a writer, another account, has versions in an account, or had.
  static func isAny(
    of writer: Identifier, in account: Identifier, _ queryable: some Queryable
  ) throws -> Bool {
    try queryable.first(
      "SELECT 1 FROM sync.document_devices WHERE writer_id = $1 AND account_id = $2 LIMIT 1",
      .id(writer), .id(account)
    ) { _ in true } ?? false
  }

  /// The accounts being deleted of which an account has versions, or had.
  static func leavingOwners(
    _ queryable: some Queryable, in account: Identifier
  ) throws -> [LeavingOwner] {
    try queryable.rows(
      """
      SELECT d.account_id, d.erase_ms FROM sync.account_deletions AS d WHERE d.account_id IN (
        SELECT writer_id FROM sync.document_devices
        WHERE account_id = $1 AND writer_id IS NOT NULL)
      ORDER BY d.account_id
      """, .id(account)
    ) { row in LeavingOwner(try row.id(0), erases: try row.optionalInstant(1)) }
  }

  /// A condition of SQL: whether an account holds no current version of a foreign device, and no clock has to be above
  /// its collected deletions. Its counter is not used twice all the same, because its own account has it.
  private static let isIdle = """
    collected = 0 AND NOT EXISTS (SELECT 1 FROM sync.document_versions AS v
      WHERE v.account_id = document_devices.account_id
        AND v.author_key = document_devices.author_key AND v.replaced_ms IS NULL)
    """

  /// Whether an account has room for one more device of another, once its idle ones made way.
  static func hasRoom(
    in account: Identifier, for sender: Identifier, _ queryable: some Queryable
  ) throws -> Bool {
    try hasRoom(in: account, for: sender, where: "TRUE", queryable)
      || hasRoom(in: account, for: sender, where: "NOT (\(isIdle))", queryable)
  }

  private static func hasRoom(
    in account: Identifier, for sender: Identifier, where condition: String,
    _ queryable: some Queryable
  ) throws -> Bool {
    let found = try queryable.first(
      """
      SELECT count(*), count(CASE WHEN writer_id = $2 THEN 1 END) FROM sync.document_devices
      WHERE account_id = $1 AND writer_id IS NOT NULL AND \(condition)
      """, .id(account), .id(sender)
    ) { row in (all: try row.integer(0), ofSender: try row.integer(1)) }
    guard let found else { return true }
    return found.all < VersionClock.foreignCountMax
      && found.ofSender < VersionClock.foreignCountOfOneMax
  }

  /// Deletes an account's idle foreign devices if there is no room for one more of a sender.
  static func makeRoom(
    in account: Identifier, for sender: Identifier, _ transaction: Transaction
  ) throws {
    guard try !hasRoom(in: account, for: sender, where: "TRUE", transaction) else { return }
    try transaction.execute(
      """
      DELETE FROM sync.document_devices
      WHERE account_id = $1 AND writer_id IS NOT NULL AND \(isIdle)
      """, .id(account))
  }

  /// - Parameter writer: The device's account, if it is another.
  static func advance(
    _ transaction: Transaction, _ author: [UInt8], of account: Identifier, to counter: Int64,
    writer: Identifier? = nil
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.document_devices (account_id, author_key, counter, writer_id)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (account_id, author_key) DO UPDATE SET counter = excluded.counter
      """, .id(account), .blob(author), .integer(counter), .id(writer))
  }

  func insert(of account: Identifier, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO sync.document_devices (account_id, author_key, counter, collected)
      VALUES ($1, $2, $3, $4)
      """, .id(account), .blob(author), .integer(counter), .integer(collected))
  }

  /// Records that the row of a deletion goes.
  static func collect(
    _ transaction: Transaction, _ author: [UInt8], of account: Identifier, through counter: Int64
  ) throws {
    try transaction.execute(
      """
      UPDATE sync.document_devices SET collected = $3
      WHERE account_id = $1 AND author_key = $2 AND collected < $3
      """, .id(account), .blob(author), .integer(counter))
  }
}
