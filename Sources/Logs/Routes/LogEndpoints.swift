import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

extension AccountRequest {
  func log() throws(LogRefusal) -> Identifier {
    guard let id = Identifier(captures[0]) else { throw .logNotFound }
    return id
  }
}

extension SyncWrite {
  /// Changes a log, unless the same request was carried out before.
  func once(
    _ request: AccountRequest, _ transaction: Transaction, now: Instant,
    _ effect: (LogWrite, inout LockedOwners) throws -> Outcome
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      var owners = locked.owners
      return try effect(
        LogWrite(host, transaction, by: locked.caller.account, now: now), &owners)
    }
  }
}

/// `GET /v1/logs`: the caller's logs.
struct GetLogs: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let logs = try MessageLog.all(reader, of: caller.account)
    return ["logs": .array(try logs.map { .object(try $0.members(reader)) })]
  }
}

/// `GET /v1/logs/{id}`: a log, with the hash of all its timestamps.
struct GetLog: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let log = try MessageLog.find(reader, request.log(), for: caller.account)
    var trie = LogTrie.open(log.epoch, reader)
    return .object(
      try log.members(reader) + [.init("root", .integer(Int64(try trie.root())))])
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

/// `POST /v1/logs/{id}/epochs`: begins an epoch without the messages that a snapshot stands for.
struct PostEpochs: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/logs/{id}/epochs"

  struct Body: Sendable {
    let log: Identifier
    let epoch: NewEpoch
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    Body(log: try request.log(), epoch: try NewEpoch(body))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try once(request, transaction, now: now) { try $0.beginEpoch(body.epoch, of: body.log, &$1) }
  }
}
