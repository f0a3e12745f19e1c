import Accounts
import Base
import Requests
import Storage
import Tiers

extension LockedDocument {
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

extension Reservations {
  /// Ends an upload of a document's content that failed.
  static func abandon(
    _ transaction: Transaction, _ id: Identifier, of file: Identifier, byteCount: Int64
  ) throws {
    try abandon(transaction, id, byteCount: byteCount) {
      let found = try transaction.first(
        "SELECT owner_id, object_id FROM sync.files WHERE id = $1", .id(file)
      ) { row in (owner: try row.id(0), object: try row.optionalID(1)) }
      let isUsed = try found?.object == id || Versions.hold(id, of: file, transaction)
      return isUsed ? nil : found?.owner
    }
  }
}
