import Accounts
import Base
import Endpoints
import HTTPMessages
import Requests
import Storage

/// `GET /v1/updates?since=<cursor>&limit=<n>`: the changes since the cursor.
struct GetUpdates: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/updates"
  let isLong = true

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Updates.Page {
    let question = try Updates.Question(request.credentials, query: request.head.query)
    return try Updates.page(reader, question, limits: host.limits, now: now)
  }

  func respond(_ page: Updates.Page, to request: AccountRequest) -> Response {
    Response(
      status: 200, headers: [("Content-Type", "application/json")], body: .bytes(page.encoded()))
  }
}
