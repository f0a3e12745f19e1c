import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Objects
import Requests
import Storage

extension AccountRequest {
  func link() throws -> Identifier { try id(otherwise: LinkRefusal.linkNotFound) }
}

/// `PUT /v1/public/{id}?expires=<seconds>&max_age=<seconds>`: publishes a content, or replaces that of a link, if it is
/// at the version in If-Match. It goes through an object, whatever its size.
struct PutPublicLink: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  let later = Later(after: .milliseconds(100), capacity: 64)
  let kind = "link"
  let pattern = "/v1/public/{id}"

  func id(_ request: AccountRequest) throws -> Identifier { try request.link() }

  private struct Target {
    let terms: LinkTerms
    let former: PublicLink?
    /// The link of this id that has ended, if it is not deleted yet.
    let ended: PublicLink?
    let write: LinkWrite

    init(
      _ transaction: Transaction, _ asked: ContentWrite, _ locked: LockedCaller,
      _ host: ProtocolHost, now: Instant
    ) throws {
      let account = locked.caller.account
      terms = try LinkTerms(asked.query)
      try terms.requireFuture(now)
      try locked.owners.requireWritable([account], by: account, transaction)
      let found = try PublicLink.find(transaction, asked.id, of: account)
      let hasEnded = found?.hasEnded(now) ?? false
      former = hasEnded ? nil : found
      ended = hasEnded ? found : nil
      try asked.requireVersion(former?.version ?? 0)
      write = LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
    }
  }

  func lock(
    _ transaction: Transaction, _ write: ContentWrite, now: Instant
  ) throws -> LockedWrite {
    let locked = try LockedCaller(transaction, write.credentials, now: now)
    return LockedWrite(by: locked.caller) { object in
      let target = try Target(transaction, write, locked, host, now: now)
      let owner = try locked.owners.require(locked.caller.account)
      try Reservations.reserve(
        transaction, object, for: owner, from: owner.account, by: locked.caller.publicKey,
        identity: write.identity, catalogue: host.catalogue, now: now
      ) { reserved in
        try target.write.requireRoom(
          for: object.byteCount, insteadOf: target.former, owner, reserved: reserved)
      }
      return owner.account
    }
  }

  /// The token is in the answer, and not in the recorded one: whoever reads the database gets no token.
  func commit(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant
  ) throws -> WrittenContent {
    try once(transaction, write, object, byteCount: byteCount, now: now) { locked in
      let target = try Target(transaction, write, locked, host, now: now)
      if let ended = target.ended {
        try target.write.end([ended], quietly: true, &locked.owners)
      }
      let (link, token) = try target.write.put(
        object, byteCount: byteCount, as: write.id, target.terms, insteadOf: target.former,
        &locked.owners)
      let isNew = target.former == nil
      return WrittenContent(
        outcome: link.outcome(token, isNew: isNew), recorded: link.outcome(nil, isNew: isNew),
        owner: link.owner, byteCount: byteCount)
    }
  }
}

extension PublicLink {
  fileprivate func outcome(_ token: LinkToken?, isNew: Bool) -> Outcome {
    Outcome(
      isNew ? 201 : 200, headers: [("ETag", EntityTag(version: version).field)],
      .object(members(token)))
  }
}
