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
  /// The link that the path names.
  func link() throws(LinkRefusal) -> Identifier {
    guard let id = Identifier(captures[0]) else { throw .linkNotFound }
    return id
  }
}

/// `PUT /v1/public/{id}?expires=<seconds>&max_age=<seconds>`: publishes a content, or replaces that of a link, if it is
/// at the version in If-Match. It goes through an object, whatever its size.
struct PutPublicLink: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  /// Retries requests that wait for an earlier attempt of their own.
  private let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)

  /// The most requests that may wait for an earlier attempt at one time.
  private static let waitingCountMax = 64

  init(host: ProtocolHost) { self.host = host }

  var route: Route {
    Route("PUT", "/v1/public/{id}") { head, captures in
      try admission(head, captures, on: host.database, pool: host.pool, later: later)
    }
  }

  func id(_ request: AccountRequest) throws -> Identifier { try request.link() }

  /// What an upload is to become, and what it replaces.
  private struct Target {
    let terms: LinkTerms
    let former: PublicLink?
    let write: LinkWrite

    init(
      _ transaction: Transaction, _ asked: ContentUpload.Asked, _ locked: LockedCaller,
      _ host: ProtocolHost, now: Instant
    ) throws {
      let account = locked.caller.account
      terms = try LinkTerms(asked.query)
      try terms.requireFuture(now)
      try locked.owners.requireWritable([account], by: account, transaction)
      former = try PublicLink.find(transaction, asked.write.id, of: account)
      try asked.write.requireVersion(former?.version ?? 0)
      write = LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
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
      let owner = try locked.owners.require(locked.caller.account)
      try Reservations.reserve(
        transaction, asked.attempt.object, byteCount: asked.byteCount, for: owner,
        by: locked.caller.publicKey, identity: asked.write.identity,
        instance: host.objects.instance, until: now + Reservations.lifetime,
        catalogue: host.catalogue, now: now
      ) { reserved in
        try target.write.requireRoom(
          for: asked.byteCount, insteadOf: target.former, owner, reserved: reserved)
      }
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

  /// The token is in the answer, and not in the recorded one: whoever reads the database gets no token.
  private func put(_ transaction: Transaction, _ asked: ContentUpload.Asked) throws -> Put {
    let now = host.clock.now()
    let (object, byteCount) = (asked.attempt.object, asked.byteCount)
    var locked = try LockedCaller(transaction, asked.write.credentials, now: now)
    var told: Outcome?
    let recorded = try Nonces.once(transaction, asked.write.credentials) {
      try Reservations.consume(
        transaction, object, of: locked.caller, identity: asked.write.identity, now: now)
      let target = try Target(transaction, asked, locked, host, now: now)
      let (link, token) = try target.write.put(
        object, byteCount: byteCount, as: asked.write.id, target.terms, insteadOf: target.former,
        &locked.owners)
      told = link.outcome(token, isNew: target.former == nil)
      return link.outcome(nil, isNew: target.former == nil)
    }
    guard let told else {
      // Another attempt at the same upload was faster.
      try Reservations.release(transaction, object)
      return Put(outcome: recorded)
    }
    return Put(outcome: told, owner: locked.caller.account, byteCount: byteCount)
  }

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

extension PublicLink {
  fileprivate func outcome(_ token: LinkToken?, isNew: Bool) -> Outcome {
    Outcome(
      isNew ? 201 : 200, headers: [("ETag", EntityTag(version: version).field)],
      .object(members(token)))
  }
}
