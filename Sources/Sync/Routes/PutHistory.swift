import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

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
