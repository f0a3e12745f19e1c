import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

/// `GET /v1/documents/{id}/versions?after=<number>&limit=<n>`: the current versions, and the kept replaced ones.
struct GetDocumentVersions: ContentsRead {
  let host: ProtocolHost
  let pattern = "/v1/documents/{id}/versions"
  let isLong = true

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> SentContents {
    let caller = try Caller(reader, request.credentials, now: now)
    guard let document = Identifier(request.captures[0]) else {
      throw DocumentRefusal.documentNotFound
    }
    var (number, limit) = (Int64(0), 100)
    for (name, value) in queryFields(request.head.query) {
      switch name {
      case "after":
        guard let after = Int64(value), after >= 0 else { throw DocumentRefusal.cursorInvalid }
        number = after
      case "limit": limit = try pageLimit(value, max: VersionPage.limitMax)
      default: break
      }
    }
    let history = try DocumentHistory.read(
      reader, document, of: caller.account, after: number, limit: limit, catalogue: host.catalogue,
      now: now)
    return SentContents(of: caller.account, history.encoded())
  }
}
