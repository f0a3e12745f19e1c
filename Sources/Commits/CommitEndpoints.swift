import Accounts
import Base
import Chains
import Endpoints
import HTTPMessages
import JSON
import Mailboxes
import Requests
import Storage

/// What a request did: only the outcome if the same one was carried out before.
struct Committed: Sendable {
  let outcome: Outcome
  var delivered: [Delivered] = []
  var blockCount = 0

  /// Call it once the write is durable, because a transaction may run more than once.
  func count(_ transfers: TransferCounter) {
    for one in delivered { one.count(transfers) }
    ChainMetrics.appended(blockCount)
  }
}

/// `POST /v1/chains/{id}/commits`: appends a block, and stores its commit and its welcome, all or nothing.
struct PostCommits: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/chains/{id}/commits"
  let bodyByteCountMax = Commit.bodyByteCountMax

  typealias Body = (chain: Identifier, commit: Commit)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return (chain: try request.chain(), commit: try Commit(body, of: request, host))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Committed {
    var committed: Committed?
    let outcome = try LockedCaller.once(
      transaction, request.credentials, now: now,
      with: { caller in
        let batch = body.commit.batch
        let others = try ChainWrite.others(transaction, batch, of: body.chain, by: caller)
        guard !others.isEmpty else { return [] }
        let members = try Chain.members(transaction, of: body.chain).receivers
        let joining = batch.blocks[0].additions
        return
          try others
          .union(
            Delivery.accounts(
              of: Array(Set(members + joining)), from: caller, inGroup: true, transaction))
      }
    ) { locked in
      let done = try commit(body, by: locked.caller, transaction, &locked.owners, now: now)
      committed = done
      return done.outcome
    }
    return committed ?? Committed(outcome: outcome)
  }

  func respond(_ committed: Committed, to input: AccountInput<Body>) -> Response {
    committed.count(host.transfers)
    return committed.outcome.response
  }

  func refused(_ error: any Error) { ChainMetrics.refused(error) }

  private func commit(
    _ body: Body, by caller: Caller, _ transaction: Transaction, _ owners: inout LockedOwners,
    now: Instant
  ) throws -> Committed {
    let (commit, block) = (body.commit, body.commit.batch.blocks[0])
    let appended = try ChainWrite(host, transaction, by: caller, now: now)
      .append(commit.batch, to: body.chain, commit: commit.commit.id, &owners)
    let delivery = Delivery(transaction, by: caller, inGroup: body.chain, host: host, now: now)
    if let repeated = appended.repeated {
      guard repeated.commit == commit.commit.id else {
        throw CommitRefusal.commitDiffers(repeated.commit)
      }
      // Throws if another message is stored under an id: the members would not be where the author is.
      _ = try delivery.repeated(commit.commit.message(.commit, to: []), mayHaveExpired: true)
      if let welcome = commit.welcome {
        _ = try delivery.repeated(welcome.message(.welcome, to: []), mayHaveExpired: true)
      }
      return Committed(
        outcome: Outcome(200, Self.json(appended.chain, repeated: true, refused: [])))
    }
    // Everyone who was a member when the commit was made, so that those who leave learn of it.
    let members = appended.before.receivers.filter { $0 != caller.publicKey }
    var messages = [commit.commit.message(.commit, to: members)]
    if let welcome = commit.welcome {
      messages.append(welcome.message(.welcome, to: block.additions))
    }
    var delivered: [Delivered] = []
    for message in messages where !message.receivers.isEmpty {
      delivered.append(
        try delivery.store(message, mustFit: !commit.batch.onlyRemoves, &owners))
    }
    try owners.save(transaction, now: now)
    let refused = delivered.flatMap(\.refused)
    return Committed(
      outcome: Outcome(200, Self.json(appended.chain, repeated: false, refused: refused)),
      delivered: delivered, blockCount: 1)
  }

  private static func json(
    _ chain: Chain, repeated: Bool, refused: [RefusedReceiver]
  ) -> JSONValue {
    ["chain": chain.json, "repeated": .bool(repeated), "refused": .array(refused.map(\.json))]
  }
}

/// `POST /v1/chains/{id}/messages`: a message for all other members, from a member.
struct PostChainMessages: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/chains/{id}/messages"
  let bodyByteCountMax = SealedMessage.requestByteCountMax

  typealias Body = (chain: Identifier, epoch: Int64, message: Commit.Letter)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: bodyByteCountMax))
    try json.requireMembers(["epoch", "message"])
    guard let epoch = json["epoch"].integer, epoch >= 0 else {
      throw RequestRefusal.bodyInvalid(path: "$.epoch", rule: "must be an epoch of the chain")
    }
    return (
      chain: try request.chain(), epoch: epoch, message: try Commit.Letter(json["message"])
    )
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Committed {
    var delivered: [Delivered] = []
    let outcome = try LockedCaller.once(
      transaction, request.credentials, now: now,
      with: { caller in
        guard let owner = try Chain.owner(transaction, of: body.chain, seenBy: caller) else {
          return []
        }
        let members = try Chain.members(transaction, of: body.chain).receivers
        // The owner's row is the lock of the chain, also if the owner has blocked the sender: no block comes between
        // the membership that is judged and the message.
        return
          try Delivery.accounts(of: members, from: caller, inGroup: true, transaction)
          .union([owner])
      }
    ) { locked in
      let (caller, chain) = (
        locked.caller, try Chain.seen(transaction, body.chain, by: locked.caller.account)
      )
      _ = try locked.owners.require(chain.owner)
      let members = try Chain.members(transaction, of: chain.id)
      guard members.contains(where: { $0.publicKey == caller.publicKey }) else {
        throw CommitRefusal.notMember
      }
      let delivery = Delivery(transaction, by: caller, inGroup: chain.id, host: host, now: now)
      let message = body.message.message(
        .message, to: members.receivers.filter { $0 != caller.publicKey })
      // Its epoch may have passed since it was stored.
      if let repeated = try delivery.repeated(message) {
        delivered = [repeated]
      } else {
        guard chain.head.epoch == body.epoch else { throw CommitRefusal.epochPassed(chain.head) }
        if !message.receivers.isEmpty {
          delivered = [try delivery.store(message, isNew: true, &locked.owners)]
          try locked.owners.save(transaction, now: now)
        }
      }
      return Outcome(200, ["refused": .array(delivered.flatMap(\.refused).map(\.json))])
    }
    return Committed(outcome: outcome, delivered: delivered)
  }

  func respond(_ committed: Committed, to input: AccountInput<Body>) -> Response {
    committed.count(host.transfers)
    return committed.outcome.response
  }
}
