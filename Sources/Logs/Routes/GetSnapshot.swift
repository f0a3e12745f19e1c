import Accounts
import Base
import Endpoints
import HTTPMessages
import Requests
import Storage

/// `GET /v1/logs/{id}/snapshot`: the snapshot or a range of it, with its version as entity tag.
struct GetSnapshot: ContentGet {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}/snapshot"

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> StoredContent {
    let caller = try Caller(reader, request.credentials, now: now)
    let log = try SeenLog.find(reader, request.log(), by: caller.account).log
    guard let snapshot = log.snapshot else { throw LogRefusal.snapshotNotFound }
    return snapshot.content(of: log.owner)
  }

  func caching(_ request: AccountRequest) -> String { "private, no-cache" }
}
