import Base
import Crypto
import Storage

/// Gives an account its tree by SQL, with the same rows as batches of 500 new files.
///
/// A million signed records sent batch after batch would take longer than everything that is measured.
struct TreeFill {
  static let recordFee = 1000
  private static let batchCount = 500
  private static let rowsPerStatement = 50
  private static let batchesPerTransaction = 10
  private static let columnCount = 10

  let account: TreeAccount

  func run(in store: TreeStore) throws(BenchError) {
    let database = try store.ownDatabase()
    defer { database.close() }
    let height = account.shape.depth(account.shape.fileCount - 1)
    do {
      let first = try Self.sequence(database, account.id)
      let step = Self.batchCount * Self.batchesPerTransaction
      for start in stride(from: 0, to: account.shape.fileCount, by: step) {
        let files = start..<min(account.shape.fileCount, start + step)
        try database.write(for: nil) { transaction in
          try insert(files, height: height, sequence: first, in: transaction)
        }
      }
      try database.write(for: nil) { transaction in
        try transaction.execute(
          """
          UPDATE sync.accounts SET seq = seq + $2, usage_bytes = usage_bytes + $3,
            record_count = record_count + $2 WHERE id = $1
          """, .id(account.id), .integer(account.shape.fileCount),
          .integer(account.shape.fileCount * Self.recordFee))
        try transaction.execute(
          "UPDATE sync.files SET height = $2 WHERE id = $1", .id(account.root), .integer(height))
      }
    } catch {
      throw .command("filling a tree: \(error)")
    }
  }

  private static func sequence(_ database: Database, _ account: Identifier) throws -> Int {
    try database.read { reader in
      Int(
        try reader.first("SELECT seq FROM sync.accounts WHERE id = $1", .id(account)) { row in
          try row.integer(0)
        } ?? 0)
    }
  }

  private func insert(
    _ files: Range<Int>, height: Int, sequence: Int, in transaction: Transaction
  ) throws {
    for start in stride(from: files.lowerBound, to: files.upperBound, by: Self.rowsPerStatement) {
      let part = start..<min(files.upperBound, start + Self.rowsPerStatement)
      var values: [SQLValue] = [.id(account.id), .blob(account.key.publicKey.bytes)]
      for index in part {
        let record = account.record(index)
        values += [
          .id(record.id), .id(record.parent), .text(record.isFolder ? "folder" : "document"),
          .blob(record.ciphertext), .blob(record.hmac), .blob(record.key),
          .blob(record.hmac + record.hmac),
          .integer(record.isFolder ? height - account.shape.depth(index) : 0),
          .integer(sequence + index + 1),
        ]
      }
      try transaction.execute(Self.statement(rowCount: part.count), values: values)
    }
    for start in stride(from: files.lowerBound, to: files.upperBound, by: Self.batchCount) {
      let end = min(files.upperBound, start + Self.batchCount)
      try transaction.execute(
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, $2, $3, 'record_created', $4, $5)
        """, .id(account.id), .integer(sequence + end),
        .integer((end - start) * Self.recordFee), .id(account.shape.id(end - 1)),
        .instant(Clock.system.now()))
    }
  }

  /// Two parameters for all rows, then nine for each.
  private static func statement(rowCount: Int) -> String {
    let rows = (0..<rowCount).map { row in
      let own = (0..<9).map { "$\(3 + 9 * row + $0)" }
      return
        "(\(own[0]), $1, \(own[1]), \(own[2]), \(own[3]), \(own[4]), \(own[5]), $2, \(own[6]), "
        + "\(own[7]), \(own[8]), 0, 0, 0)"
    }
    let values = rows.joined(separator: ", ")
    return """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, name, name_hmac, file_key, author_key, signature, height,
         seq, content_version, content_bytes, deleted)
      VALUES \(values)
      """
  }
}
