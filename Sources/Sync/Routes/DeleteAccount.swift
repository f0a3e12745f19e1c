import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

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
