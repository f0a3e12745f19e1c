package import Base
package import Endpoints
package import HTTPMessages
package import HTTPServer
import Objects
package import Requests
package import Storage

/// Content of one kind that clients `PUT`, whole or in parts: it is reserved, streamed to an object and committed. A
/// protocol decides who may write and whose room it takes. Both are judged anew at the end, maybe a day later.
package protocol ContentPut: Upload
where
  Request == ContentUpload.Asked, Reservation == ContentUpload.Reception,
  Sink == ContentUpload.Attempt, Answer == WrittenContent
{
  var host: ProtocolHost { get }
  var uploads: UploadsUnderWay<ContentUpload.Attempt> { get }
  /// Retries requests that wait for an earlier attempt of their own.
  var later: Later { get }

  /// Names the kind in rows of uploads in parts.
  var kind: String { get }
  var pattern: String { get }

  /// What the content is of.
  func id(_ request: AccountRequest) throws -> Identifier

  /// Takes the whole content.
  func whole(_ head: RequestHead, _ captures: [Substring]) throws -> Step<Admission>

  /// Locks the rows that a write concerns.
  func lock(
    _ transaction: Transaction, _ write: ContentWrite, now: Instant
  ) throws -> LockedWrite

  /// Consumes an object's reservation and makes it the content, if the caller may write it now.
  func commit(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant
  ) throws -> WrittenContent

  /// Ends an upload of one request that failed. If it was committed after all, the object stays.
  func abandon(
    _ transaction: Transaction, _ object: Identifier, byteCount: Int64, of id: Identifier
  ) throws
}

extension ContentPut {
  /// One request carries at most 1 GiB.
  package var byteCountMax: Int64 { min(1 << 30, host.limits.contentByteCountMax) }

  package func whole(_ head: RequestHead, _ captures: [Substring]) throws -> Step<Admission> {
    try admission(head, captures, on: host.database, pool: host.pool, later: later)
  }

  package func admit(
    _ head: RequestHead, _ captures: [Substring]
  ) throws -> ContentUpload.Asked {
    let request = try AccountRequest(head, captures, host.gate)
    return ContentUpload.Asked(
      write: try ContentWrite(request, id(request)), byteCount: head.contentLength ?? 0,
      attempt: ContentUpload.Attempt(digest: request.digest, uploads))
  }

  package func inquire(_ asked: ContentUpload.Asked) -> Inquiry? {
    host.gate.inquiry(asked.write.credentials)
  }

  package func lane(_ asked: ContentUpload.Asked) -> Identifier? { asked.write.credentials.lane }

  package func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, isLast: Bool
  ) throws -> ContentUpload.Reception? {
    let now = host.clock.now()
    let locked = try lock(transaction, asked.write, now: now)
    let reception = try Reservations.reception(
      transaction, asked, of: locked.caller, isLast: isLast, isMoving: isMoving)
    if case .receive = reception {
      _ = try locked.reserve(
        ReservedObject(
          asked.attempt.object, byteCount: asked.byteCount, instance: host.objects.instance,
          until: now + Reservations.lifetime))
    }
    return reception
  }

  /// Whether an upload makes progress; another program's does if the program runs.
  private func isMoving(_ object: Identifier, _ instance: Identifier?) -> Bool {
    guard let instance, instance != host.objects.instance else {
      return uploads.attempt(object)?.isMoving ?? false
    }
    return host.objects.isRunning(instance)
  }

  package func receive(
    _ reception: ContentUpload.Reception
  ) throws -> ContentUpload.Attempt {
    let attempt = reception.asked.attempt
    switch reception {
    case .receive(_, let superseded):
      if let superseded { uploads.attempt(superseded)?.supersede() }
      try attempt.open(in: host.objects)
    case .repeated: attempt.drop()
    }
    return attempt
  }

  package func settle(
    _ reception: ContentUpload.Reception, _ attempt: ContentUpload.Attempt
  ) throws {
    if case .receive(let asked, _) = reception {
      asked.write.credentials.meter.charge(Price.content(asked.byteCount), for: .content)
    }
    try attempt.settle()
  }

  package func transact(
    _ transaction: Transaction, _ reception: ContentUpload.Reception
  ) throws -> WrittenContent {
    switch reception {
    case .receive(let asked, _):
      try commit(
        transaction, asked.write, asked.attempt.object, byteCount: asked.byteCount,
        now: host.clock.now())
    case .repeated(_, let outcome): WrittenContent(outcome: outcome, owner: nil, byteCount: 0)
    }
  }

  /// Consumes an object's reservation and makes it the content by `effect`, unless the same request did so before: its
  /// outcome is repeated, and the object goes. The caller's row is locked.
  package func once(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant, _ effect: (inout LockedCaller) throws -> WrittenContent
  ) throws -> WrittenContent {
    var locked = try LockedCaller(transaction, write.credentials, now: now)
    var written: WrittenContent?
    let recorded = try Nonces.once(transaction, write.credentials) {
      try Reservations.consume(
        transaction, object, of: locked.caller, identity: write.identity, now: now)
      let new = try effect(&locked)
      written = new
      return new.recorded
    }
    if let written { return written }
    // Another attempt at the same upload was faster.
    try Reservations.release(transaction, object)
    return WrittenContent(outcome: recorded, owner: nil, byteCount: byteCount)
  }

  package func abandon(
    _ transaction: Transaction, _ object: Identifier, byteCount: Int64, of id: Identifier
  ) throws {
    try Reservations.release(transaction, object)
  }

  package func release(
    _ transaction: Transaction, _ reception: ContentUpload.Reception
  ) throws {
    guard case .receive(let asked, _) = reception else { return }
    try abandon(
      transaction, asked.attempt.object, byteCount: asked.byteCount, of: asked.write.id)
  }

  package func respond(_ written: WrittenContent) -> Response { host.count(written).response }
}

extension ContentWrite {
  package init(_ request: AccountRequest, _ id: Identifier) throws {
    try self.init(
      request.credentials, id, query: request.head.query, request.head.headers,
      digest: request.digest)
  }
}

extension ProtocolHost {
  /// Counted once the write is durable, because a transaction may run more than once.
  package func count(_ written: WrittenContent) -> Outcome {
    if let owner = written.owner { transfers.received(written.byteCount, of: owner) }
    return written.outcome
  }
}
