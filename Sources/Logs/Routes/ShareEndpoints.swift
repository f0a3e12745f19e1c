import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPSignatures
import JSON
import Requests
import Storage

extension AccountRequest {
  fileprivate func sharee() throws -> Identifier {
    try id(1, otherwise: AccountRefusal.accountNotFound)
  }
}

extension SyncWrite {
  /// Changes a share, with the rows of both its accounts. A caller who has no part in it locks its own row alone.
  fileprivate func once(
    _ request: AccountRequest, _ log: Identifier, _ sharee: Identifier, _ transaction: Transaction,
    now: Instant, _ effect: (LogWrite, inout LockedOwners) throws -> Outcome
  ) throws -> Outcome {
    try once(
      request, transaction, now: now,
      with: { caller in
        guard sharee == caller else {
          let owner = try MessageLog.owner(transaction, of: log)
          return owner == caller ? [sharee] : []
        }
        let share = try LogShare.find(transaction, log, caller)
        return share.map { [$0.owner] } ?? []
      }, effect)
  }
}

/// `GET /v1/logs/{id}/shares`: all shares to the owner, and to another account its own.
struct GetLogShares: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}/shares"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let seen = try SeenLog.find(reader, request.log(), by: caller.account)
    let shares = try seen.share.map { [$0] } ?? LogShare.all(reader, of: seen.log.id)
    return ["shares": .array(shares.map(\.json))]
  }
}

/// `PUT /v1/logs/{id}/shares/{account}`: the owner grants a share, or the account that it is with accepts it. A grant's
/// author is the key that signs the request.
struct PutLogShare: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = "/v1/logs/{id}/shares/{account}"

  typealias Body = (log: Identifier, account: Identifier, change: LogShareChange)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let (log, account) = (try request.log(), try request.sharee())
    let change = try LogShareChange(body, of: log, with: account) {
      host.gate.authenticator.signatures.countStatement()
      return try request.credentials.requireSignature().keyID
    }
    return (log: log, account: account, change: change)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, body.log, body.account, transaction, now: now) { write, owners in
      switch body.change {
      case .grant(let grant):
        return try write.share(grant, of: body.log, with: body.account, &owners)
      case .accept:
        guard write.account == body.account else {
          _ = try SeenLog.find(transaction, body.log, by: write.account)
          throw LogRefusal.notPermitted
        }
        return try write.acceptShare(of: body.log, &owners)
      }
    }
  }
}

/// `DELETE /v1/logs/{id}/shares/{account}`: ends a share, by either of its accounts. Takes no body.
struct DeleteLogShare: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/logs/{id}/shares/{account}"
  let bodyByteCountMax = 0

  typealias Body = (log: Identifier, account: Identifier)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    (log: try request.log(), account: try request.sharee())
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, body.log, body.account, transaction, now: now) {
      try $0.endShare(of: body.log, with: body.account, &$1)
    }
  }
}
