import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/sessions`: a bearer token for an hour. Takes no body. Each request is answered once.
struct PostSessions: SignedWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/sessions"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Sessions.New {
    try Sessions.create(transaction, request.credentials, now: now)
  }

  func respond(_ session: Sessions.New, to input: AccountInput<Void>) -> Response {
    Outcome(201, session.json).response
  }
}

/// `GET /v1/sessions`: the account's sessions, at most 64.
struct GetSessions: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/sessions"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try Sessions.list(
      reader, of: caller.account, askedBy: request.credentials.proof, now: now)
  }
}

/// `DELETE /v1/sessions/{id}`: ends a session by its id, or the caller's own (`current`).
struct DeleteSession: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/sessions/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Sessions.Name {
    try Sessions.Name(request.captures[0])
  }

  func write(
    _ name: Sessions.Name, of request: AccountRequest, in transaction: Transaction,
    now: Instant
  ) throws -> Outcome {
    try Sessions.end(transaction, name, request.credentials, now: now)
  }
}
