import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Objects
import Requests
import Storage

extension AccountRequest {
  fileprivate func blob() throws -> Identifier { try id(otherwise: DocumentRefusal.blobNotFound) }
}

/// `PUT /v1/blobs/{id}` with `If-Match: "0"`: stores an encrypted file, which versions of documents may name from then
/// on. It goes through an object, whatever its size.
struct PutBlob: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  let later = Later(after: .milliseconds(100), capacity: 64)
  let kind = "blob"
  let pattern = "/v1/blobs/{id}"

  func id(_ request: AccountRequest) throws -> Identifier { try request.blob() }

  func lock(
    _ transaction: Transaction, _ write: ContentWrite, now: Instant
  ) throws -> LockedWrite {
    let locked = try LockedCaller(transaction, write.credentials, now: now)
    return LockedWrite(by: locked.caller) { object in
      let blob = try BlobWrite(
        transaction, write, byteCount: object.byteCount, locked, host, now: now)
      try Reservations.reserve(
        transaction, object, for: blob.owner, from: locked.caller.account,
        by: locked.caller.publicKey, identity: write.identity, catalogue: host.catalogue, now: now
      ) { reserved in try blob.requireRoom(reserved: reserved) }
      return blob.owner.account
    }
  }

  func commit(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant
  ) throws -> WrittenContent {
    try once(transaction, write, object, byteCount: byteCount, now: now) { locked in
      let blob = try BlobWrite(transaction, write, byteCount: byteCount, locked, host, now: now)
        .put(object, &locked.owners)
      let outcome = Outcome(
        200, headers: [("ETag", EntityTag(version: blob.number).field)],
        ["id": .string(blob.id.description), "bytes": .integer(blob.byteCount)])
      return WrittenContent(outcome: outcome, owner: blob.owner, byteCount: byteCount)
    }
  }
}

/// A blob on its way into its account, whose row is locked.
private struct BlobWrite {
  let owner: LockedOwner
  private let transaction: Transaction
  private let write: ContentWrite
  private let byteCount: Int64
  private let host: ProtocolHost
  private let now: Instant

  /// Refuses an id that is in use: a blob never changes.
  init(
    _ transaction: Transaction, _ write: ContentWrite, byteCount: Int64, _ locked: LockedCaller,
    _ host: ProtocolHost, now: Instant
  ) throws {
    try locked.owners.requireWritable(
      [locked.caller.account], by: locked.caller, transaction)
    owner = try locked.owners.require(locked.caller.account)
    guard try DocumentBlob.find(transaction, write.id) == nil else {
      throw DocumentRefusal.blobExists
    }
    try write.requireVersion(0)
    (self.transaction, self.write, self.byteCount) = (transaction, write, byteCount)
    (self.host, self.now) = (host, now)
  }

  func requireRoom(reserved: Int64) throws {
    let limits = try Cap(transaction, owner.account, catalogue: host.catalogue, now: now)
      .limits(host.catalogue)
    try owner.requireSize(byteCount, insteadOf: 0, limits)
    try owner.requireRoom(
      for: DocumentBlob.charge(byteCount), reserved: reserved, askedBy: owner.account,
      transaction, catalogue: host.catalogue, now: now)
  }

  func put(_ object: Identifier, _ owners: inout LockedOwners) throws -> DocumentBlob {
    try requireRoom(reserved: 0)
    let charge = DocumentBlob.charge(byteCount)
    let number = try owners.charge(
      owner.account, charge, reason: .documentsPushed, file: write.id, for: .documents)
    try owners.save(transaction, now: now)
    let blob = DocumentBlob(
      id: write.id, owner: owner.account, number: number, object: object,
      byteCount: byteCount)
    guard try blob.insert(transaction, now: now) else { throw DocumentRefusal.blobExists }
    var totals = try DocumentTotals(transaction, of: owner.account)
    totals.number = number
    totals.byteCount += charge
    try totals.save(transaction, of: owner.account)
    return blob
  }
}

/// `GET /v1/blobs/{id}`: a blob or a range of it, for who uploaded it or holds a version that names it.
struct GetBlob: ContentGet {
  let host: ProtocolHost
  let pattern = "/v1/blobs/{id}"

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> StoredContent {
    let caller = try Caller(reader, request.credentials, now: now)
    return try DocumentBlob.find(reader, request.blob(), by: caller.account).content
  }

  func caching(_ request: AccountRequest) -> String { "private, no-cache" }
}
