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
    let document = try request.id(otherwise: DocumentRefusal.documentNotFound)
    let (number, limit) = try request.page(
      after: "after", max: VersionPage.limitMax, otherwise: DocumentRefusal.cursorInvalid)
    let history = try DocumentHistory.read(
      reader, document, of: caller.account, after: number, limit: limit, catalogue: host.catalogue,
      now: now)
    return SentContents(of: caller.account, history.encoded())
  }
}
