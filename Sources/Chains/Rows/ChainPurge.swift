import Accounts
import Base
import Storage

/// The deletion of the rows of chains that were deleted, or whose account is erased.
enum ChainPurge {
  static let queue = FailingItems.Queue("chains")

  /// Deletes one slice of a deleted chain. The last slice takes the chain's own row.
  static func sweep(_ transaction: Transaction, _ chain: Identifier) throws {
    guard try !deletedSlice(transaction, chain) else { return }
    let ended = try transaction.first(
      "DELETE FROM sync.chains WHERE id = $1 RETURNING owner_id, bytes", .id(chain)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    if let ended { try Garbage.keep(transaction, -ended.byteCount, of: ended.owner) }
  }

  /// Erases one slice of an account's chains. Returns false if nothing was left.
  static func erase(_ transaction: Transaction, _ account: Identifier) throws -> Bool {
    if try ChainAccounts.erase(transaction, account) { return true }
    let chain = try transaction.first(
      "SELECT id FROM sync.chains WHERE owner_id = $1 ORDER BY id LIMIT 1", .id(account)
    ) { row in try row.id(0) }
    guard let chain else { return false }
    if try !deletedSlice(transaction, chain) {
      try transaction.execute("DELETE FROM sync.chains WHERE id = $1", .id(chain))
    }
    return true
  }

  /// Blocks, then members. Returns false if neither was left.
  private static func deletedSlice(
    _ transaction: Transaction, _ chain: Identifier
  ) throws -> Bool {
    try transaction.deleteSlice(of: "chain_blocks", where: "chain_id", is: chain, by: "epoch")
      || transaction.execute(
        "DELETE FROM sync.chain_members WHERE chain_id = $1", .id(chain)) > 0
  }
}
