import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Objects
import Requests
import Storage

extension AccountRequest {
  fileprivate func blob() throws(DocumentRefusal) -> Identifier {
    guard let id = Identifier(captures[0]) else { throw .blobNotFound }
    return id
  }
}

/// `PUT /v1/blobs/{id}` with `If-Match: "0"`: stores an encrypted file, which versions of documents may name from then
/// on. It goes through an object, whatever its size.
struct PutBlob: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  /// Retries requests that wait for an earlier attempt of their own.
  private let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)

  /// The most requests that may wait for an earlier attempt at one time.
  private static let waitingCountMax = 64

  init(host: ProtocolHost) { self.host = host }

  var route: Route {
    Route("PUT", "/v1/blobs/{id}") { head, captures in
      try admission(head, captures, on: host.database, pool: host.pool, later: later)
    }
  }

  func id(_ request: AccountRequest) throws -> Identifier { try request.blob() }

  func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, isLast: Bool
  ) throws -> ContentUpload.Reception? {
    let now = host.clock.now()
    let locked = try LockedCaller(transaction, asked.write.credentials, now: now)
    let reception = try Reservations.reception(
      transaction, asked, of: locked.caller, isLast: isLast, isMoving: isMoving)
    if case .receive = reception {
      let write = try BlobWrite(transaction, asked, locked, host, now: now)
      try Reservations.reserve(
        transaction, asked.attempt.object, byteCount: asked.byteCount, for: write.owner,
        by: locked.caller.publicKey, identity: asked.write.identity,
        instance: host.objects.instance, until: now + Reservations.lifetime,
        catalogue: host.catalogue, now: now
      ) { reserved in try write.requireRoom(reserved: reserved) }
    }
    return reception
  }

  /// What was put; without an owner if an earlier, equal request had done so.
  struct Put: Sendable {
    let outcome: Outcome
    var owner: Identifier?
    var byteCount: Int64 = 0
  }

  func transact(
    _ transaction: Transaction, _ reception: ContentUpload.Reception
  ) throws -> Put {
    switch reception {
    case .receive(let asked, _): try put(transaction, asked)
    case .repeated(_, let outcome): Put(outcome: outcome)
    }
  }

  private func put(_ transaction: Transaction, _ asked: ContentUpload.Asked) throws -> Put {
    let now = host.clock.now()
    var locked = try LockedCaller(transaction, asked.write.credentials, now: now)
    var owner: Identifier?
    let outcome = try Nonces.once(transaction, asked.write.credentials) {
      try Reservations.consume(
        transaction, asked.attempt.object, of: locked.caller, identity: asked.write.identity,
        now: now)
      let write = try BlobWrite(transaction, asked, locked, host, now: now)
      owner = locked.caller.account
      let blob = try write.put(asked.attempt.object, &locked.owners)
      return Outcome(
        200, headers: [("ETag", EntityTag(version: blob.number).field)],
        ["id": .string(blob.id.description), "bytes": .integer(blob.byteCount)])
    }
    // Another attempt at the same upload was faster.
    if owner == nil { try Reservations.release(transaction, asked.attempt.object) }
    return Put(outcome: outcome, owner: owner, byteCount: asked.byteCount)
  }

  /// If the commit succeeded although its result was lost, there is no reservation, and the object stays.
  func release(_ transaction: Transaction, _ reception: ContentUpload.Reception) throws {
    guard case .receive(let asked, _) = reception else { return }
    try Reservations.release(transaction, asked.attempt.object)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ put: Put) -> Response {
    if let owner = put.owner { host.transfers.received(put.byteCount, of: owner) }
    return put.outcome.response
  }
}

/// A blob on its way into its account, whose row is locked.
private struct BlobWrite {
  let owner: LockedOwner
  private let transaction: Transaction
  private let asked: ContentUpload.Asked
  private let host: ProtocolHost
  private let now: Instant

  /// Refuses an id that is in use: a blob never changes.
  init(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, _ locked: LockedCaller,
    _ host: ProtocolHost, now: Instant
  ) throws {
    try locked.owners.requireWritable(
      [locked.caller.account], by: locked.caller, transaction)
    owner = try locked.owners.require(locked.caller.account)
    guard try DocumentBlob.find(transaction, asked.write.id) == nil else {
      throw DocumentRefusal.blobExists
    }
    try asked.write.requireVersion(0)
    (self.transaction, self.asked, self.host, self.now) = (transaction, asked, host, now)
  }

  func requireRoom(reserved: Int64) throws {
    let limits = try Cap(transaction, owner.account, catalogue: host.catalogue, now: now)
      .limits(host.catalogue)
    try owner.requireSize(asked.byteCount, insteadOf: 0, limits)
    try owner.requireRoom(
      for: DocumentBlob.charge(asked.byteCount), reserved: reserved, askedBy: owner.account,
      transaction, catalogue: host.catalogue, now: now)
  }

  func put(_ object: Identifier, _ owners: inout LockedOwners) throws -> DocumentBlob {
    try requireRoom(reserved: 0)
    let charge = DocumentBlob.charge(asked.byteCount)
    let number = try owners.change(owner.account) { owner in
      let number = owner.nextSequence(for: .documents)
      owner.charge(charge, reason: .documentsPushed, file: asked.write.id, sequence: number)
      return number
    }
    try owners.save(transaction, now: now)
    let blob = DocumentBlob(
      id: asked.write.id, owner: owner.account, number: number, object: object,
      byteCount: asked.byteCount)
    try blob.insert(transaction, now: now)
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
