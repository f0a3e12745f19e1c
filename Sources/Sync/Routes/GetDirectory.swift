import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

/// `GET /v1/directory?username=…`: another account's id and keys, by its name, its id or a key.
struct GetDirectory: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/directory"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    _ = try Caller(reader, request.credentials, now: now)
    return try Directory.answer(reader, Directory.Question(query: request.head.query))
  }
}
