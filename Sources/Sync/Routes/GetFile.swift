import Accounts
import Base
import Endpoints
import HTTPMessages
import Requests
import Storage

/// `GET /v1/files/{id}`: the record of one file.
struct GetFile: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/files/{id}"

  struct Answer: Sendable {
    let file: FileRecord
    /// The shares that the caller may see.
    let shares: [Share]
  }

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Answer {
    let caller = try Caller(reader, request.credentials, now: now)
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(request.identifier(0), reader)
    return Answer(file: file, shares: try Share.of(file, visibleTo: caller.account, reader))
  }

  func respond(_ answer: Answer, to request: AccountRequest) -> Response {
    .json(200, answer.file.json(shares: answer.shares))
  }
}
