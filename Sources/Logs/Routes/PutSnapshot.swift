import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `PUT /v1/logs/{id}/snapshot?covers=<cursor>`: stores what a device made of a log's messages up to a cursor, if the
/// snapshot is at the version in If-Match. It goes through an object, whatever its size.
struct PutSnapshot: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  /// Retries requests that wait for an earlier attempt of their own.
  private let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)

  /// The most requests that may wait for an earlier attempt at one time.
  private static let waitingCountMax = 64

  init(host: ProtocolHost) { self.host = host }

  var route: Route {
    Route("PUT", "/v1/logs/{id}/snapshot") { head, captures in
      try admission(head, captures, on: host.database, pool: host.pool, later: later)
    }
  }

  func id(_ request: AccountRequest) throws -> Identifier { try request.log() }

  /// The log of an upload, and who writes it.
  private struct Target {
    let log: MessageLog
    let covered: Int64
    let write: LogWrite

    init(
      _ transaction: Transaction, _ asked: ContentUpload.Asked, _ locked: LockedCaller,
      _ host: ProtocolHost, now: Instant
    ) throws {
      let account = locked.caller.account
      log = try SeenLog.own(transaction, asked.write.id, by: account)
      try locked.owners.requireWritable([log.owner], by: account, transaction)
      let covers = queryFields(asked.query).first { $0.name == "covers" }?.value ?? ""
      covered = try log.number(at: LogCursor(covers), transaction)
      try asked.write.requireVersion(log.snapshot?.version ?? 0)
      write = LogWrite(host, transaction, by: account, now: now)
    }
  }

  func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, isLast: Bool
  ) throws -> ContentUpload.Reception? {
    let now = host.clock.now()
    let locked = try LockedCaller(transaction, asked.write.credentials, now: now)
    let reception = try Reservations.reception(
      transaction, asked, of: locked.caller, isLast: isLast, isMoving: isMoving)
    if case .receive = reception {
      let target = try Target(transaction, asked, locked, host, now: now)
      try target.write.reserveSnapshot(
        asked.attempt.object, byteCount: asked.byteCount, covering: target.covered, of: target.log,
        by: locked.caller.publicKey, identity: asked.write.identity, locked.owners)
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
    let (object, byteCount) = (asked.attempt.object, asked.byteCount)
    var locked = try LockedCaller(transaction, asked.write.credentials, now: now)
    var owner: Identifier?
    let outcome = try Nonces.once(transaction, asked.write.credentials) {
      try Reservations.consume(
        transaction, object, of: locked.caller, identity: asked.write.identity, now: now)
      let target = try Target(transaction, asked, locked, host, now: now)
      owner = target.log.owner
      let version = try target.write.putSnapshot(
        object, byteCount: byteCount, covering: target.covered, of: target.log, &locked.owners)
      let log = try MessageLog.find(transaction, target.log.id, for: locked.caller.account)
      return Outcome(
        200, headers: [("ETag", EntityTag(version: version).field)],
        .object(try log.members(transaction)))
    }
    // Another attempt at the same upload was faster.
    if owner == nil { try Reservations.release(transaction, object) }
    return Put(outcome: outcome, owner: owner, byteCount: byteCount)
  }

  func release(_ transaction: Transaction, _ reception: ContentUpload.Reception) throws {
    guard case .receive(let asked, _) = reception else { return }
    try LogSnapshot.abandon(
      transaction, asked.attempt.object, byteCount: asked.byteCount, of: asked.write.id)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ put: Put) -> Response {
    if let owner = put.owner { host.transfers.received(put.byteCount, of: owner) }
    return put.outcome.response
  }
}
