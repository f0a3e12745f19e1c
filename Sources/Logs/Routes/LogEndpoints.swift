import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

extension AccountRequest {
  func log() throws -> Identifier { try id(otherwise: LogRefusal.logNotFound) }
}

extension SyncWrite {
  /// Changes a log, unless the same request did so before. `others` returns the accounts locked with the caller's.
  func once(
    _ request: AccountRequest, _ transaction: Transaction, now: Instant,
    with others: (_ caller: Identifier) throws -> Set<Identifier> = { _ in [] },
    _ effect: (LogWrite, inout LockedOwners) throws -> Outcome
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now, with: others) { locked in
      let write = LogWrite(
        host: host, transaction: transaction, account: locked.caller.account, now: now)
      return try effect(write, &locked.owners)
    }
  }
}

/// `GET /v1/logs`: the caller's logs, those that others share with it, and its invitations to more.
struct GetLogs: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try SeenLog.all(reader, of: caller.account)
  }
}

/// `GET /v1/logs/{id}`: a log, with the hash of all its timestamps.
struct GetLog: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let seen = try SeenLog.find(reader, request.log(), by: caller.account)
    var trie = LogTrie.open(seen.log.epoch, reader)
    return .object(
      try seen.log.members(reader, by: seen.share) + [
        .init("root", .integer(Int64(try trie.root())))
      ])
  }
}

/// `POST /v1/logs`: creates a log.
struct PostLogs: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/logs"

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> NewLog { try NewLog(body) }

  func write(
    _ log: NewLog, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, transaction, now: now) { try $0.create(log, &$1) }
  }
}

/// `DELETE /v1/logs/{id}`: deletes a log with all its messages. Takes no body.
struct DeleteLog: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/logs/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    try request.log()
  }

  func write(
    _ log: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, transaction, now: now) { try $0.delete(log, &$1) }
  }
}

/// `PUT /v1/logs/{id}/key`: replaces what the account's devices keep with the log.
struct PutLogKey: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = "/v1/logs/{id}/key"

  typealias Body = (log: Identifier, key: [UInt8]?)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let json = try JSON.body(body)
    try json.requireMembers(["key"])
    return (log: try request.log(), key: try NewLog.key(json))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, transaction, now: now) { try $0.setKey(body.key, of: body.log, &$1) }
  }
}

/// `POST /v1/logs/{id}/epochs`: begins an epoch without the messages that a snapshot stands for.
struct PostEpochs: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/logs/{id}/epochs"

  typealias Body = (log: Identifier, covers: LogCursor)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let (log, json) = (try request.log(), try JSON.body(body))
    try json.requireMembers(["covers"])
    guard let text = json["covers"].string else {
      throw RequestRefusal.bodyInvalid(path: "$.covers", rule: "must be a cursor of the log")
    }
    return (log: log, covers: try LogCursor(text))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, transaction, now: now) {
      try $0.beginEpoch(of: body.log, covering: body.covers, &$1)
    }
  }
}
