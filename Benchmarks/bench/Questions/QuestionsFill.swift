import Base
import Crypto
import Storage

/// Creates the accounts of a backlog's subscriptions by SQL: each with its root folder, a device's key and a
/// name, as after its creation.
struct QuestionsFill {
  private static let batchCount = 5000
  private static let noted = 100_000
  private static let fee: Int64 = 1000
  /// The storage of an account without a plan: room for its root, but for no document.
  static let freeByteCount = fee + 1
  /// One account of a hundred has a document, which is more than it may hold without a plan.
  private static let documentEvery = 100

  let accountCount: Int
  let now: Instant
  let progress: Progress

  static func name(_ index: Int) -> String { "user\(Serial.digits(index))" }

  static func key(_ index: Int) -> [UInt8] {
    Array("bench device key \(Serial.digits(index))...".utf8)
  }

  private static func root(_ index: Int) -> Identifier? {
    Identifier("00000000-0000-4001-8000-\(Serial.digits(index))")
  }

  func run(in directory: String) throws(BenchError) {
    do {
      let database = try Database.open(.sqlite(directory: directory), owning: .sync)
      defer { database.close() }
      // If accounts are filled in the order of their keys, a batch touches few pages.
      let order = (0..<accountCount).map { (Serial.digits($0), $0) }.sorted { $0 < $1 }.map(\.1)
      for start in stride(from: 0, to: order.count, by: Self.batchCount) {
        if start % Self.noted == 0, start > 0 {
          progress.note("\(FoldBench.grouped(start)) accounts")
        }
        let batch = order[start...].prefix(Self.batchCount)
        try database.write(for: nil) { transaction in
          for index in batch { try insert(index, in: transaction) }
        }
      }
    } catch {
      throw .command("filling accounts: \(error)")
    }
  }

  private func insert(_ index: Int, in transaction: Transaction) throws {
    guard let id = Identifier(BacklogPlan.account(index)), let root = Self.root(index) else {
      return
    }
    let created = now - .days(Int64(30 + index % 700))
    let documents = index % Self.documentEvery == 0 ? 1 : 0
    try transaction.execute(
      """
      INSERT INTO sync.accounts
        (id, username, username_shown, root_id, seq, usage_bytes, record_count, created_ms)
      VALUES ($1, $2, $2, $3, $4, $5, $4, $6)
      """, .id(id), .text(Self.name(index)), .id(root), .integer(Int64(1 + documents)),
      .integer(Self.fee * Int64(1 + documents)), .instant(created))
    try transaction.execute(
      """
      INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
      VALUES ($1, $2, 'first', $3, $3)
      """, .blob(Self.key(index)), .id(id), .instant(created))
    try transaction.execute(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, height, seq, content_version, content_bytes, deleted)
      VALUES ($1, $2, $1, 'folder', $3, 1, 0, 0, 0)
      """, .id(root), .id(id), .integer(Int64(documents)))
    try enter(root, 1, of: id, at: created, in: transaction)
    if documents > 0 { try insertDocument(of: id, under: root, at: created, in: transaction) }
  }

  /// Inserts a document, and the key that has signed it: that of the first device is no real one.
  private func insertDocument(
    of account: Identifier, under root: Identifier, at created: Instant, in transaction: Transaction
  ) throws {
    let key = Ed25519PrivateKey()
    let record = TreeRecord(
      id: Random.identifier(), owner: account, parent: root, isFolder: false,
      nameSeed: Random.bytes(32))
    try transaction.execute(
      """
      INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
      VALUES ($1, $2, 'second', $3, $3)
      """, .blob(key.publicKey.bytes), .id(account), .instant(created))
    try transaction.execute(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, name, name_hmac, file_key, author_key, signature, height,
         seq, content_version, content_bytes, deleted)
      VALUES ($1, $2, $3, 'document', $4, $5, $6, $7, $8, 0, 2, 0, 0, 0)
      """, .id(record.id), .id(account), .id(root), .blob(record.ciphertext), .blob(record.hmac),
      .blob(record.key), .blob(key.publicKey.bytes), .blob(record.signature(by: key)))
    try enter(record.id, 2, of: account, at: created, in: transaction)
  }

  private func enter(
    _ file: Identifier, _ number: Int64, of account: Identifier, at created: Instant,
    in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
      VALUES ($1, $2, $3, 'record_created', $4, $5)
      """, .id(account), .integer(number), .integer(Self.fee), .id(file), .instant(created))
  }
}
