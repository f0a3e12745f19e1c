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
  func logs(_ transaction: Transaction, now: Instant) -> LogWrite {
    LogWrite(transaction: transaction, catalogue: host.catalogue, now: now)
  }
}

/// `GET /v1/logs`: the caller's logs.
struct GetLogs: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let logs = try MessageLog.all(reader, of: caller.account)
    return ["logs": .array(logs.map { .object($0.members) })]
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
    return .object(log.members + [.init("root", .integer(Int64(try trie.root())))])
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
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try logs(transaction, now: now).create(log, locked)
    }
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
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try logs(transaction, now: now).delete(log, locked)
    }
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
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try logs(transaction, now: now).beginEpoch(body.epoch, of: body.log, locked)
    }
  }
}
