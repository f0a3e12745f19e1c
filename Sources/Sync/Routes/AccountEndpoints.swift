import Accounts
import Base
import Configuration
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage
import Tiers

/// `POST /v1/accounts`: registers the key that signs the request, if the operator allows it.
struct PostAccounts: SyncWrite {
  let api: SyncAPI
  let method = "POST"
  let pattern = "/v1/accounts"

  var host: ProtocolHost { api.host }

  /// With an invite's code, if accounts are opened by invites.
  typealias Body = (account: NewAccount, code: String?)

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> AccountRequest {
    try api.refuseRegistration(head)
    return try AccountRequest(head, captures, host.gate)
  }

  /// The key may be unknown.
  func inquire(_ request: AccountRequest) -> Inquiry? { nil }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    try api.countRegistration(request.head)
    let json = try JSON.body(body)
    try json.requireMembers(["invite", "root", "username"])
    let code = try json["invite"].optionalText(characterCountMax: Invite.codeCharacterCountMax)
    if api.registration == .invite, code == nil { throw AccountRefusal.inviteRequired }
    let username = try json["username"].optionalText(
      characterCountMax: Username.characterCountMax
    ).map { text throws(RequestRefusal) in
      guard let username = Username(text) else {
        throw .bodyInvalid(
          path: "$.username", rule: "must be 1 to 32 of a-z, 0-9, dot, underscore and hyphen")
      }
      return username
    }
    let signature = try request.credentials.requireSignature()
    let account = NewAccount(
      id: Account.identifier(firstKey: signature.keyID.bytes), username: username,
      root: try json["root"].identifier(), publicKey: signature.keyID.bytes)
    return (account, api.registration == .invite ? code : nil)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try Nonces.once(transaction, request.credentials) {
      let account: Account
      do {
        let invite = try body.code.map { try Invite.use(transaction, $0, now: now) }
        account = try body.account.create(
          transaction, by: invite, catalogue: host.catalogue, now: now)
      } catch let refusal as AccountRefusal {
        // The caller had no row to lock: another instance may have written the request's own effect meanwhile.
        if try Nonces.recorded(transaction, request.credentials) != nil {
          throw OutdatedDecision()
        }
        throw refusal
      }
      let cap = try Cap(transaction, account.id, catalogue: host.catalogue, now: now)
      return Outcome(201, headers: [("Location", "/v1/account")], account.json(cap))
    }
  }
}

/// `GET /v1/account`: the account, usage, quota, keys, and the transfers of two months, some seconds old.
struct GetAccount: SyncRead {
  let host: ProtocolHost
  let protocols: [any ProtocolRoom.Type]
  let pattern = "/v1/account"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    guard let account = try Account.find(reader, caller.account) else {
      throw RequestRefusal.unknownKey
    }
    let cap = try Cap(reader, account.id, catalogue: host.catalogue, now: now)
    let graceEnd =
      cap.reason == .grace ? try Cap.end(reader, account.id, after: now) : nil
    return account.json(
      cap, protocolHistory: try protocols.historyByteCount(of: account.id, reading: reader),
      graceEnd: graceEnd, devices: try Device.list(reader, of: account.id),
      transfers: try Transfers.recent(reader, account.id, now: now))
  }
}

/// `GET /v1/directory?username=…`: another account's id and keys, by its name, its id or a key.
struct GetDirectory: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/directory"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    _ = try Caller(reader, request.credentials, now: now)
    return try Directory.answer(reader, Directory.Question(query: request.head.query))
  }
}

/// `PUT /v1/account/history`: chooses whether the versions of documents make room for writes that do not fit.
struct PutHistory: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = "/v1/account/history"

  /// A key must sign it, because it deletes contents.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Account.WhenFull {
    _ = try request.credentials.requireSignature()
    let json = try JSON.body(body)
    try json.requireMembers(["when_full"])
    return try json["when_full"].oneOf(Account.WhenFull.self)
  }

  func write(
    _ choice: Account.WhenFull, of request: AccountRequest, in transaction: Transaction,
    now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try Account.choose(choice, of: locked.caller.account, in: transaction)
      return Outcome(status: 204, body: [])
    }
  }
}

/// `DELETE /v1/account`: requests the account's erasure, after a time in which it can be cancelled.
struct DeleteAccount: SignedWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/account"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> AccountDeletion {
    let account = try LockedCaller(transaction, request.credentials, now: now).caller.account
    guard
      try AccountDeletion.ask(
        for: account, erasing: now + host.limits.deletionDelay, by: .owner, at: now,
        in: transaction),
      let deletion = try AccountDeletion.find(account, reading: transaction)
    else { throw RequestRefusal.unknownKey }
    return deletion
  }

  func respond(_ deletion: AccountDeletion, to input: AccountInput<Void>) -> Response {
    .json(202, deletion.json)
  }
}

/// `DELETE /v1/account/deletion`: keeps the account, unless its erasure has begun.
struct CancelDeletion: SignedWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/account/deletion"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws {
    let account = try LockedCaller(transaction, request.credentials, now: now).caller.account
    _ = try AccountDeletion.cancel(account, in: transaction)
  }

  func respond(_ outcome: Void, to input: AccountInput<Void>) -> Response {
    Response(status: 204, headers: [], body: .bytes([]))
  }
}

/// `GET /v1/account/deletion`: whether and when the account is erased, and the effects.
struct GetDeletion: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/account/deletion"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let account = try Caller(reader, request.credentials, now: now).account
    let deletion = try AccountDeletion.find(account, reading: reader)
    let consequences = try DeletionConsequences(of: account, reading: reader)
    return .object(
      (deletion?.members ?? [.init("state", "none")]) + [
        .init("delay_days", .integer(host.limits.deletionDelay.milliseconds / 86_400_000))
      ] + consequences.members)
  }
}

extension AccountDeletion {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("state", .string(state.rawValue)), .init("asked", .string(asked.description)),
      .init("erases", erases.map { .string($0.description) } ?? .null),
    ]
  }

  fileprivate var json: JSONValue { .object(members) }
}

/// `GET /v1/blocks`: the accounts whose invitations the caller refuses, at most 1000.
struct GetBlocks: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/blocks"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try Blocks.list(reader, of: caller.account)
  }
}

/// `PUT /v1/blocks/{account}`: refuses that account's invitations from now on. Takes no body.
/// `DELETE /v1/blocks/{account}`: accepts its invitations again.
struct ChangeBlock: SyncWrite {
  enum Change: String {
    case add = "PUT"
    case remove = "DELETE"
  }

  let host: ProtocolHost
  let change: Change
  let pattern = "/v1/blocks/{account}"
  let bodyByteCountMax = 0

  var method: String { change.rawValue }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    guard let blocked = Identifier(request.captures[0]) else {
      throw AccountRefusal.accountNotFound
    }
    return blocked
  }

  func write(
    _ blocked: Identifier, of request: AccountRequest, in transaction: Transaction,
    now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      switch change {
      case .add: try Blocks.add(transaction, blocked, to: account, locked.owners, now: now)
      case .remove: try Blocks.remove(transaction, blocked, from: account)
      }
      return Outcome(status: 204, body: [])
    }
  }
}
