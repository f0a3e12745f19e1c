import Accounts
package import Base
package import Storage
package import Tiers

/// Restores a version by an operator, who has no key: the restored content has no author.
package enum OperatorRestore {
  /// Makes an earlier version of a document its content again. The account's row must be locked.
  ///
  /// - Returns: The versions of the document before and after.
  /// - Throws: A `Refusal` if the account has no such document or version, or an `AccountRefusal` if it does not fit.
  package static func perform(
    _ transaction: Transaction, _ id: Identifier, of account: Identifier, version: Int64,
    catalogue: Catalogue, now: Instant
  ) throws -> (before: Int64, after: Int64) {
    var tree = AncestorTree(seenBy: account)
    let file = try tree.file(id, transaction)
    guard file.owner == account else { throw Refusal.fileNotFound }
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    var owners = try LockedOwners(
      transaction, Set(try Share.accounts(transaction, of: id, in: .pending) + [account]))
    let source = try Contents.take(transaction, version, of: file, &owners)
    let after = try Contents.put(
      transaction, file, source, by: nil, askedBy: account, &owners, catalogue: catalogue, now: now)
    return (file.contentVersion, after)
  }
}
