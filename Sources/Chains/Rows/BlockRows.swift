import Base
import Crypto
import JSON
import Storage

struct StoredBlock: Sendable {
  let block: ChainBlock
  let byteCount: Int64
  let stored: Instant
  /// The commit that came with it; nil if none did.
  let commit: Identifier?

  fileprivate static let columns = """
    chain_id, parent_hash, epoch, author_key, additions, removals, hash, signature, bytes,
    stored_ms, commit_id
    """

  init(block: ChainBlock, stored: Instant, commit: Identifier?) {
    self.block = block
    byteCount = block.chargedByteCount
    self.stored = stored
    self.commit = commit
  }

  fileprivate init(row: borrowing Row) throws {
    block = ChainBlock(
      chain: try row.id(0), parent: try row.optionalBlob(1), epoch: try row.integer(2),
      author: try row.blob(3), additions: try Self.keys(row.blob(4)),
      removals: try Self.keys(row.blob(5)), hash: try row.blob(6), signature: try row.blob(7))
    byteCount = try row.integer(8)
    stored = try row.instant(9)
    commit = try row.optionalID(10)
  }

  private static func keys(_ bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: Ed25519PublicKey.byteCount).map { start in
      Array(bytes[start..<min(start + Ed25519PublicKey.byteCount, bytes.count)])
    }
  }

  var json: JSONValue {
    .object(
      block.members + [.init("commit", commit.map { .string($0.description) } ?? .null)])
  }
}

struct BlockRows<Source: Queryable> {
  let source: Source
  let chain: Identifier

  func find(_ epoch: Int64) throws -> StoredBlock? {
    try source.first(
      "SELECT \(StoredBlock.columns) FROM sync.chain_blocks WHERE chain_id = $1 AND epoch = $2",
      .id(chain), .integer(epoch)
    ) { row in try StoredBlock(row: row) }
  }

  func after(_ epoch: Int64, limit: Int) throws -> [StoredBlock] {
    try source.rows(
      """
      SELECT \(StoredBlock.columns) FROM sync.chain_blocks WHERE chain_id = $1 AND epoch > $2
      ORDER BY epoch LIMIT $3
      """, .id(chain), .integer(epoch), .integer(limit)
    ) { row in try StoredBlock(row: row) }
  }
}

extension BlockRows<Transaction> {
  func insert(_ blocks: [StoredBlock]) throws {
    try source.insert(
      blocks.map { stored in
        let block = stored.block
        return [
          .integer(block.epoch), .blob(block.parent), .blob(block.hash), .blob(block.author),
          .blob(block.additions.flatMap { $0 }), .blob(block.removals.flatMap { $0 }),
          .blob(block.signature), .integer(stored.byteCount), .instant(stored.stored),
          .id(stored.commit),
        ]
      }, of: chain,
      into: """
        chain_blocks (chain_id, epoch, parent_hash, hash, author_key, additions, removals,
          signature, bytes, stored_ms, commit_id)
        """)
  }

  func delete(_ epoch: Int64) throws {
    try source.execute(
      "DELETE FROM sync.chain_blocks WHERE chain_id = $1 AND epoch = $2", .id(chain),
      .integer(epoch))
  }
}
