import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

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
