import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/files/{id}/restore`: makes an earlier version the content again, if the document is at the version in
/// If-Match.
struct PostRestore: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/files/{id}/restore"

  struct Body: Sendable {
    let write: ContentWrite
    let version: Int64
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let json = try JSON.body(body)
    try json.requireMembers(["version"])
    guard let version = json["version"].integer else {
      throw RequestRefusal.bodyInvalid(path: "$.version", rule: "must be a number")
    }
    return Body(write: try ContentWrite(request, request.identifier(0)), version: version)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try Contents.restore(
      transaction, body.write, version: body.version, catalogue: host.catalogue, now: now)
  }
}
