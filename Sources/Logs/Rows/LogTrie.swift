import Base
import Storage

/// The trie of an epoch, in its rows.
enum LogTrie {
  static func open(_ epoch: Identifier, _ queryable: some Queryable) -> MerkleTrie {
    MerkleTrie { paths in try pages(epoch, paths, queryable) }
  }

  private static func pages(
    _ epoch: Identifier, _ paths: [TriePath], _ queryable: some Queryable
  ) throws -> [TriePath: TriePage] {
    let pages = try queryable.rows(in: paths.map { .text($0.text) }, .id(epoch)) { list in
      "SELECT path, hashes FROM sync.log_trie_pages WHERE epoch_id = $1 AND path IN (\(list))"
    } row: { row -> (TriePath, TriePage) in
      guard let path = TriePath(try row.text(0)), let page = TriePage(bytes: try row.blob(1))
      else { throw DatabaseError.statement("a page of the trie of epoch \(epoch) is damaged") }
      return (path, page)
    }
    return Dictionary(pages) { first, _ in first }
  }

  static func save(
    _ trie: MerkleTrie, of epoch: Identifier, in transaction: Transaction
  ) throws {
    try save(trie.changed, of: epoch, in: transaction)
  }

  static func save(
    _ pages: [(path: TriePath, page: TriePage)], of epoch: Identifier, in transaction: Transaction
  ) throws {
    try transaction.insert(
      pages.map { [.text($0.path.text), .blob($0.page.bytes)] }, of: epoch,
      into: "log_trie_pages (epoch_id, path, hashes)",
      conflict: "ON CONFLICT (epoch_id, path) DO UPDATE SET hashes = excluded.hashes")
  }
}
