import Base
import Storage

/// How far the versions of a device go.
struct DocumentDevice: Sendable {
  let author: [UInt8]
  /// The highest counter of its versions.
  let counter: Int64
  /// The highest counter of its deletions whose rows have gone; 0 if there is none.
  let collected: Int64

  /// The devices whose versions an account holds or held, in the order of their keys: at most as many as a clock names.
  static func all(_ queryable: some Queryable, of account: Identifier) throws -> [DocumentDevice] {
    try queryable.rows(
      """
      SELECT author_key, counter, collected FROM sync.document_devices WHERE account_id = $1
      ORDER BY author_key
      """, .id(account)
    ) { row in
      DocumentDevice(
        author: try row.blob(0), counter: try row.integer(1), collected: try row.integer(2))
    }
  }

  /// The devices of the account itself.
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

  /// How many devices of other accounts it has.
  static func foreignCount(_ queryable: some Queryable, of account: Identifier) throws -> Int64 {
    try queryable.first(
      """
      SELECT count(*) FROM sync.document_devices WHERE account_id = $1 AND writer_id IS NOT NULL
      """, .id(account)
    ) { row in try row.integer(0) } ?? 0
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

  /// Writes an arriving device.
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
