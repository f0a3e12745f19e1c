import Accounts
import Base
import Requests
import Storage
import Tiers

/// Reservations of uploads that become the content of a document.
extension Reservations {
  /// Returns the owner whose room it is.
  @discardableResult
  static func reserve(
    _ transaction: Transaction, _ locked: LockedDocument, _ write: ContentWrite,
    _ object: Identifier, byteCount: Int64, instance: Identifier?, until expires: Instant,
    catalogue: Catalogue, now: Instant
  ) throws -> Identifier {
    let file = try locked.document(transaction)
    let owner = try locked.owners.require(file.owner)
    try reserve(
      transaction, object, byteCount: byteCount, for: owner, by: locked.caller.publicKey,
      identity: write.identity, instance: instance, until: expires, catalogue: catalogue, now: now
    ) { reserved in
      _ = try Replacement(
        of: file, by: byteCount, for: owner, reserved: reserved, askedBy: locked.caller.account,
        transaction, catalogue: catalogue, now: now)
    }
    return file.owner
  }

  /// Ends an upload that failed.
  static func abandon(
    _ transaction: Transaction, _ id: Identifier, of file: Identifier, byteCount: Int64
  ) throws {
    let found = try transaction.first(
      "SELECT owner_id, object_id FROM sync.files WHERE id = $1", .id(file)
    ) { row in (owner: try row.id(0), object: try row.optionalID(1)) }
    let isUsed = try found?.object == id || Versions.hold(id, of: file, transaction)
    try abandon(transaction, id, byteCount: byteCount, of: isUsed ? nil : found?.owner)
  }
}
