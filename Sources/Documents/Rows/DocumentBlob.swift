import Accounts
package import Base
package import Storage
import Tiers

/// An encrypted file that versions of documents name. It is written once and never changes.
///
/// It stays for as long as any account holds a version that names it, current or kept, and is charged to the account
/// whose device uploaded it. One that no version has named yet goes after a day.
package struct DocumentBlob: Sendable {
  let id: Identifier
  let owner: Identifier
  /// The number of the owner's change that stored it.
  let number: Int64
  let object: Identifier
  let byteCount: Int64

  static let queue = FailingItems.Queue("document_blobs")
  private static let isDue = FailingItems.isDue(queue, "document_blobs.owner_id", at: "$1")
  /// How long a blob waits for a version that names it.
  static let unnamedSpan = Instant.Span.days(1)
  /// The charge besides the content: the row and the file.
  private static let overheadByteCount: Int64 = 1000
  private static let columns = "id, owner_id, seq, object_id, content_bytes"

  static func charge(_ byteCount: Int64) -> Int64 { byteCount + overheadByteCount }

  static func find(_ queryable: some Queryable, _ id: Identifier) throws -> DocumentBlob? {
    try queryable.first(
      "SELECT \(columns) FROM sync.document_blobs WHERE id = $1", .id(id)
    ) { row in try DocumentBlob(row: row) }
  }

  /// The account that is charged for a blob of this id; nil if there is none.
  package static func owner(_ queryable: some Queryable, of id: Identifier) throws -> Identifier? {
    try find(queryable, id)?.owner
  }

  /// An account's blobs that versions name, or named.
  static func named(
    _ queryable: some Queryable, of owner: Identifier
  ) throws -> [DocumentBlob] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.document_blobs WHERE owner_id = $1 AND due_ms IS NULL ORDER BY seq
      """, .id(owner)
    ) { row in try DocumentBlob(row: row) }
  }

  /// The blob if an account may read it: it uploaded it, or holds a version that names it.
  static func find(
    _ queryable: some Queryable, _ id: Identifier, by account: Identifier
  ) throws -> DocumentBlob {
    guard try nameable([id], by: account, queryable).contains(id),
      let blob = try find(queryable, id)
    else { throw DocumentRefusal.blobNotFound }
    return blob
  }

  /// Those of some blobs that versions of an account may name: it uploaded them, or holds a version that names them.
  static func nameable(
    _ blobs: Set<Identifier>, by account: Identifier, _ queryable: some Queryable
  ) throws -> Set<Identifier> {
    let nameable = try queryable.rows(in: blobs.sorted().map { .id($0) }, .id(account)) { list in
      """
      SELECT b.id FROM sync.document_blobs AS b
      WHERE b.id IN (\(list)) AND (b.owner_id = $1 OR EXISTS (
        SELECT 1 FROM sync.document_blob_names AS n
        WHERE n.blob_id = b.id AND n.account_id = $1))
      """
    } row: { row in
      try row.id(0)
    }
    return Set(nameable)
  }

  var content: StoredContent {
    StoredContent(owner: owner, version: number, byteCount: byteCount, place: .object(object))
  }

  /// Returns false if the id is in use. Another account may have taken it a moment ago.
  func insert(_ transaction: Transaction, now: Instant) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO sync.document_blobs (id, owner_id, seq, object_id, content_bytes, due_ms)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING
      """, .id(id), .id(owner), .integer(number), .id(object), .integer(byteCount),
      .instant(now + Self.unnamedSpan)) == 1
  }

  /// Deletes the names of blobs of other accounts, which have not given them to an account that has just arrived.
  static func forgetForeignNames(of account: Identifier, in transaction: Transaction) throws {
    try transaction.execute(
      """
      DELETE FROM sync.document_blob_names WHERE account_id = $1 AND NOT EXISTS (
        SELECT 1 FROM sync.document_blobs AS b
        WHERE b.id = document_blob_names.blob_id AND b.owner_id = $1)
      """, .id(account))
  }

  /// Lets those of an account's blobs that versions name stay for as long as any does.
  static func markNamed(
    _ blobs: Set<Identifier>, of owner: Identifier, _ transaction: Transaction
  ) throws {
    try transaction.execute(in: blobs.sorted().map { .id($0) }, .id(owner)) { list in
      """
      UPDATE sync.document_blobs SET due_ms = NULL
      WHERE owner_id = $1 AND id IN (\(list)) AND due_ms IS NOT NULL AND EXISTS (
        SELECT 1 FROM sync.document_blob_names AS n WHERE n.blob_id = document_blobs.id)
      """
    }
  }

  /// Has the owners of blobs looked at, because an account's versions that named them were deleted. A row that waits
  /// already is written again, so that who looks at it sees this transaction.
  static func release(
    _ blobs: Set<Identifier>, by holder: Identifier, in transaction: Transaction
  ) throws {
    try transaction.execute(in: blobs.sorted().map { .id($0) }, .id(holder)) { list in
      """
      INSERT INTO sync.document_releases (owner_id, item_id, holder_id)
      SELECT owner_id, id, $1 FROM sync.document_blobs WHERE id IN (\(list))
      ORDER BY owner_id, id
      ON CONFLICT (owner_id, item_id, holder_id) DO UPDATE SET holder_id = excluded.holder_id
      """
    }
  }

  /// Hands those of an account's blobs that no version names to the sweeper. Returns their charge.
  static func delete(
    unnamed blobs: Set<Identifier>, of owner: Identifier, _ transaction: Transaction, now: Instant
  ) throws -> Int64 {
    let unnamed = try transaction.rows(in: blobs.sorted().map { .id($0) }, .id(owner)) { list in
      """
      SELECT \(columns) FROM sync.document_blobs
      WHERE owner_id = $1 AND id IN (\(list)) AND NOT EXISTS (
        SELECT 1 FROM sync.document_blob_names AS n WHERE n.blob_id = document_blobs.id)
      """
    } row: { row in
      try DocumentBlob(row: row)
    }
    for blob in unnamed {
      try transaction.execute("DELETE FROM sync.document_blobs WHERE id = $1", .id(blob.id))
      try Garbage.add(transaction, blob.object, of: owner, byteCount: blob.byteCount, since: now)
    }
    return unnamed.reduce(0) { $0 + charge($1.byteCount) }
  }

  /// An account with blobs that no version has named in time; nil if there is none.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT owner_id FROM sync.document_blobs WHERE due_ms IS NOT NULL AND due_ms <= $1
        AND \(isDue)
      ORDER BY due_ms, id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// Deletes one slice of an account's blobs that no version has named in time.
  static func sweep(_ transaction: Transaction, _ account: Identifier, now: Instant) throws {
    var owners = try LockedOwners(transaction, [account])
    let due = try transaction.rows(
      """
      SELECT id FROM sync.document_blobs
      WHERE due_ms IS NOT NULL AND due_ms <= $2 AND owner_id = $1 ORDER BY due_ms, id LIMIT $3
      """, .id(account), .instant(now), .integer(DocumentTexts.sliceCountMax)
    ) { row in try row.id(0) }
    guard let first = due.first else { return }
    // Versions may name one already: those that lost a blob of the same id with its account.
    try markNamed(Set(due), of: account, transaction)
    let byteCount = try delete(unnamed: Set(due), of: account, transaction, now: now)
    guard byteCount > 0 else { return }
    var totals = try DocumentTotals(transaction, of: account)
    try totals.collect(byteCount, file: first, of: account, &owners)
    try owners.save(transaction, now: now)
    try totals.save(transaction, of: account)
  }
}

extension DocumentBlob {
  fileprivate init(row: borrowing Row) throws {
    self.init(
      id: try row.id(0), owner: try row.id(1), number: try row.integer(2),
      object: try row.id(3), byteCount: try row.integer(4))
  }
}
