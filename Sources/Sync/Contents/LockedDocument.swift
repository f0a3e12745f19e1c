import Accounts
import Base
import Requests
import Storage
import Tiers

/// A document to write, with the rows of the caller, its owner, and everyone who will see the change.
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

  /// Reserves room for an object that becomes the document's content. Returns the owner, whose room it is.
  func reserve(
    _ transaction: Transaction, _ object: ReservedObject, catalogue: Catalogue, now: Instant
  ) throws -> Identifier {
    let file = try document(transaction)
    let owner = try owners.require(file.owner)
    try Reservations.reserve(
      transaction, object, of: file.id, for: owner, from: caller.account, by: caller.publicKey,
      identity: write.identity, catalogue: catalogue, now: now
    ) { reserved in
      _ = try Replacement(
        of: file, by: object.byteCount, for: owner, reserved: reserved, askedBy: caller.account,
        transaction, catalogue: catalogue, now: now)
    }
    return file.owner
  }
}
