import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage
import Tiers

/// `GET /v1/files/{id}/versions?before=<version>&limit=<n>`: the kept earlier contents, newest first.
struct GetVersions: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/files/{id}/versions"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let page = try NewestFirst(request.head.query)
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(request.identifier(0), reader)
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    guard file.kind == .document else { throw Refusal.notADocument }
    let retention = try Retention(reader, file.owner, catalogue: host.catalogue, now: now)
    let versions = try Versions.newest(
      reader, of: file.id, before: page.before, limit: page.limit + 1)
    let shown = versions.prefix(page.limit)
    return [
      "versions": .array(
        shown.map { version in
          [
            "version": .integer(version.number), "bytes": .integer(version.byteCount),
            "author": .base64(version.author),
            "written": version.written.map { .string($0.description) } ?? .null,
            "replaced": .string(version.replaced.description),
            "until": .string(version.end(under: retention).description),
          ]
        }),
      "next": versions.count > page.limit ? shown.last.map { .integer($0.number) } ?? .null : .null,
    ]
  }
}

/// `POST /v1/files/{id}/restore`: makes an earlier version the content of a document at If-Match's version.
struct PostRestore: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/files/{id}/restore"

  typealias Body = (write: ContentWrite, version: Int64)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let json = try JSON.body(body)
    try json.requireMembers(["version"])
    guard let version = json["version"].integer else {
      throw RequestRefusal.bodyInvalid(path: "$.version", rule: "must be a number")
    }
    return (try ContentWrite(request, request.identifier(0)), version)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try Contents.restore(
      transaction, body.write, version: body.version, catalogue: host.catalogue, now: now)
  }
}
