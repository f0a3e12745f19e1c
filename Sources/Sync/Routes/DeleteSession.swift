import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

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
