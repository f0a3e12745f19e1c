import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `GET /v1/public?after=<id>&limit=<n>`: the account's links in the order of their ids, without their tokens.
struct GetPublicLinks: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/public"

  private static let limitMax = 500

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    var (last, limit): (Identifier?, Int) = (nil, 100)
    for (name, value) in queryFields(request.head.query) {
      switch name {
      case "after":
        guard let id = Identifier(value) else {
          throw LinkRefusal.termsInvalid(name: "after", rule: "must be the id of a link")
        }
        last = id
      case "limit": limit = try pageLimit(value, max: Self.limitMax)
      default: break
      }
    }
    let found = try PublicLink.list(reader, of: caller.account, after: last, limit: limit + 1)
    let page = found.prefix(limit)
    let next = found.count > limit ? page.last?.id : nil
    return [
      "links": .array(page.map { .object($0.listedMembers) }),
      "next": next.map { .string($0.description) } ?? .null,
    ]
  }
}

/// `DELETE /v1/public/{id}`: ends a link at once. Takes no body.
struct DeletePublicLink: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/public/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    try request.link()
  }

  func write(
    _ id: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      guard let link = try PublicLink.find(transaction, id, of: account) else {
        throw LinkRefusal.linkNotFound
      }
      try LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
        .end([link], &locked.owners)
      return Outcome(status: 204, body: [])
    }
  }
}

/// `POST /v1/public/{id}/token`: another token in place of a link's, told once. Takes no body.
struct PostLinkToken: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/public/{id}/token"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    _ = try request.credentials.requireSignature()
    return try request.link()
  }

  func write(
    _ id: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> JSONValue {
    let signature = try request.credentials.requireSignature()
    var locked = try LockedCaller(transaction, request.credentials, now: now)
    let account = locked.caller.account
    try locked.owners.requireWritable([account], by: account, transaction)
    try Nonces.spend(transaction, signature)
    let token = try LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
      .renewToken(of: id, &locked.owners)
    guard let link = try PublicLink.find(transaction, id, of: account) else {
      throw LinkRefusal.linkNotFound
    }
    return .object(link.members(token))
  }

  func respond(_ link: JSONValue, to input: AccountInput<Identifier>) -> Response {
    Outcome(201, link).response
  }
}
