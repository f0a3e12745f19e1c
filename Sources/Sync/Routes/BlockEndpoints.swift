import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

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
