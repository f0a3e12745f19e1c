import Accounts
import Base
import Endpoints
import HTTPMessages
import Requests
import Storage

/// `GET /v1/files/{id}/content?version=<n>`: the content or a range of it, with its version as entity tag. Without
/// `version` it is the latest.
struct GetContent: ContentGet {
  let host: ProtocolHost
  let pattern = Contents.pattern

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> StoredContent {
    try Contents.find(
      reader, request.credentials, request.identifier(0), version: Self.version(request), now: now)
  }

  private static func version(_ request: AccountRequest) throws(ContentRefusal) -> Int64? {
    guard let text = queryFields(request.head.query).first(where: { $0.name == "version" })?.value
    else { return nil }
    guard let number = Int64(text), number > 0 else { throw .versionNotFound }
    return number
  }

  /// A version may be kept for ever. Of the latest the client asks whether it is still that.
  func caching(_ request: AccountRequest) throws -> String {
    try Self.version(request) == nil
      ? "private, no-cache" : "private, max-age=31536000, immutable"
  }
}
