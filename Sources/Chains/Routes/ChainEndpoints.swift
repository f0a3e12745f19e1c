package import Accounts
package import Base
import Endpoints
import HTTPMessages
import HTTPSignatures
package import JSON
package import Requests
import Storage

extension AccountRequest {
  /// The chain that the path names.
  package func chain() throws -> Identifier { try id(otherwise: ChainRefusal.chainNotFound) }
}

/// `GET /v1/chains`: the chains in which the account has members, its own first, and whose owners are leaving.
struct GetChains: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/chains"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let leaving = try Chain.leavingOwners(reader, seenBy: caller.account)
    return [
      "chains": .array(try Chain.all(reader, seenBy: caller.account).map(\.json)),
      "leaving": .array(leaving.map(\.json)),
    ]
  }
}

/// `GET /v1/chains/{id}`: a chain's head and members.
struct GetChain: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/chains/{id}"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let chain = try Chain.seen(reader, request.chain(), by: caller.account)
    let members = try MemberRows(source: reader, chain: chain.id).all()
    return .object(chain.members + [.init("members", .array(members.map(\.json)))])
  }
}

extension ChainMember {
  fileprivate var json: JSONValue {
    [
      "public_key": .base64(publicKey), "epoch": .integer(since),
      "account": account.map { .string($0.description) } ?? .null, "revoked": .bool(isRevoked),
      "left": .bool(hasLeft),
    ]
  }
}

/// `GET /v1/chains/{id}/blocks?since=<epoch>&limit=<n>`: the blocks after an epoch; without `since`, from the root on.
struct GetChainBlocks: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/chains/{id}/blocks"
  let isLong = true

  /// A page of blocks that name as many keys as they may has some 2 MiB.
  private static let limitMax = 100

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let (since, limit) = try request.page(
      after: "since", from: -1, limit: Self.limitMax, max: Self.limitMax,
      otherwise: ChainRefusal.sinceInvalid)
    let chain = try Chain.seen(reader, request.chain(), by: caller.account)
    let blocks = try BlockRows(source: reader, chain: chain.id).after(since, limit: limit)
    let last = blocks.last?.block.epoch ?? since
    return [
      "blocks": .array(blocks.map(\.json)), "head": chain.head.json,
      "more": .bool(last < chain.head.epoch),
    ]
  }
}

/// `POST /v1/chains`: makes a chain of a root.
struct PostChains: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/chains"

  typealias Body = (batch: ChainBatch, isOwn: Bool)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let json = try JSON.body(body)
    try json.requireMembers(["blocks", "own"])
    return (
      batch: try ChainBatch(json, blockCount: 1...1, of: request, host),
      isOwn: json["own"].exists ? try json["own"].boolean() : false
    )
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let chain = try ChainWrite(host, transaction, by: locked.caller, now: now)
        .create(body.batch, isOwn: body.isOwn, &locked.owners)
      return Outcome(201, headers: [("Location", "/v1/chains/\(chain.id)")], chain.json)
    }
  }
}

/// `DELETE /v1/chains/{id}`: deletes a chain, or leaves it if another account owns it. Takes no body.
struct DeleteChain: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/chains/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    try request.chain()
  }

  func write(
    _ chain: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(
      transaction, request.credentials, now: now,
      with: { caller in
        // The owner's row is the lock of the chain.
        try Chain.owner(transaction, of: chain, seenBy: caller).map { [$0] } ?? []
      }
    ) { locked in
      try ChainWrite(host, transaction, by: locked.caller, now: now).delete(chain, &locked.owners)
      return Outcome(status: 204, body: [])
    }
  }
}

/// `POST /v1/chains/{id}/blocks`: appends blocks, all or none.
struct PostChainBlocks: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/chains/{id}/blocks"
  let bodyByteCountMax = ChainBatch.bodyByteCountMax

  typealias Body = (chain: Identifier, batch: ChainBatch)

  struct Done: Sendable {
    let outcome: Outcome
    /// 0 if the blocks were stored before.
    let blockCount: Int
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    // Charged before the signatures are checked, because those of refused blocks are checked, too.
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: bodyByteCountMax))
    try json.requireMembers(["blocks", "revocations"])
    let counts = 1...ChainBatch.blockCountMax
    return (
      chain: try request.chain(),
      batch: try ChainBatch(json, blockCount: counts, of: request, host)
    )
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Done {
    var blockCount = 0
    let outcome = try LockedCaller.once(
      transaction, request.credentials, now: now,
      with: { try ChainWrite.others(transaction, body.batch, of: body.chain, by: $0) }
    ) { locked in
      let appended = try ChainWrite(host, transaction, by: locked.caller, now: now)
        .append(body.batch, to: body.chain, &locked.owners)
      if appended.repeated == nil { blockCount = body.batch.blocks.count }
      return Outcome(200, appended.chain.json)
    }
    return Done(outcome: outcome, blockCount: blockCount)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ done: Done, to input: AccountInput<Body>) -> Response {
    ChainMetrics.appended(done.blockCount)
    return done.outcome.response
  }

  func refused(_ error: any Error) { ChainMetrics.refused(error) }
}

extension ChainBatch {
  /// Reads the blocks of a request's body, and counts the signatures that it checks.
  package init(
    _ body: JSON, blockCount: ClosedRange<Int>, of request: AccountRequest, _ host: ProtocolHost
  ) throws {
    try self.init(
      body, blockCount: blockCount, counting: host.gate.authenticator.signatures
    ) { () throws(RequestRefusal) in try request.credentials.requireSignature().keyID }
  }
}
