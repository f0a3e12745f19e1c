internal import Accounts
internal import Base
internal import Endpoints
internal import HTTPMessages
internal import Requests
internal import Storage

/// `GET /v1/files/{id}/content`: the content or a range of it, with its version as entity tag.
struct GetContent: SyncRead {
  let host: ProtocolHost
  let pattern = Contents.pattern
  let isLong = true

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> Contents.Found {
    try Contents.find(reader, request.credentials, request.identifier(0), now: now)
  }

  func respond(_ found: Contents.Found, to request: AccountRequest) throws -> Response {
    let response = try Download(found, host.objects).response(to: request.head)
    if request.head.method != "HEAD" {
      request.credentials.meter.charge(Price.content(response.body.byteCount), for: .content)
      host.transfers.sent(response.body.byteCount, of: found.owner)
    }
    return response
  }
}
