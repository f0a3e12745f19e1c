import Accounts
import Base
import Endpoints
import HTTPMessages
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
