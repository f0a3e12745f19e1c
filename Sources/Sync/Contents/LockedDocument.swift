import Accounts
import Base
import Requests
import Storage

/// A document to write, and the rows of the caller, of the owner who is charged, and of everyone
/// who will see the change.
struct LockedDocument {
  let caller: Caller
  var owners: LockedOwners
  let write: ContentWrite

  init(_ transaction: Transaction, _ write: ContentWrite, now: Instant) throws {
    self.write = write
    let locked = try LockedCaller(transaction, write.credentials, now: now) { caller in
      var tree = AncestorTree(seenBy: caller)
      try tree.load(write.id, transaction)
      guard let node = tree[write.id], tree.role(node.id) >= .writer else { return [] }
      return Set(try Share.accounts(transaction, of: node.id, in: .pending) + [node.owner])
    }
    (caller, owners) = (locked.caller, locked.owners)
  }

  /// The document as it is now, if the caller may write it and the precondition is met.
  func document(_ transaction: Transaction) throws -> FileRecord {
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(write.id, transaction)
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    guard file.kind == .document else { throw Refusal.notADocument }
    guard tree.role(file.id) >= .writer else { throw Refusal.notPermitted }
    try owners.requireWritable([file.owner], by: caller, transaction)
    try write.requireVersion(file.contentVersion)
    return file
  }
}
