import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage
import Tiers

/// `GET /v1/files/{id}/content?version=<n>`: a content or a range of it, the latest without `version`.
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

/// `PUT /v1/files/{id}/content`: replaces content at the version in If-Match. Large content goes to an object.
struct PutContent: ContentPut {
  let host: ProtocolHost
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  let later = Later(after: .milliseconds(100), capacity: 64)
  let kind = "file"
  let pattern = Contents.pattern

  init(host: ProtocolHost) { self.host = host }

  func id(_ request: AccountRequest) throws -> Identifier { try request.identifier(0) }

  func whole(_ head: RequestHead, _ captures: [Substring]) throws -> Step<Admission> {
    // Without a length the server refuses the body itself (411), so either path works.
    let isSmall = (head.contentLength ?? 0) <= Int64(Contents.inlineByteCountMax)
    return isSmall
      ? try PutSmallContent(host: host).admission(head, captures, on: host.database)
      : try admission(head, captures, on: host.database, pool: host.pool, later: later)
  }

  func lock(
    _ transaction: Transaction, _ write: ContentWrite, now: Instant
  ) throws -> LockedWrite {
    let locked = try LockedDocument(transaction, write, now: now)
    return LockedWrite(by: locked.caller) { object in
      try locked.reserve(transaction, object, catalogue: host.catalogue, now: now)
    }
  }

  func commit(
    _ transaction: Transaction, _ write: ContentWrite, _ object: Identifier, byteCount: Int64,
    now: Instant
  ) throws -> WrittenContent {
    try Contents.replace(
      transaction, write, with: (.object(object), byteCount), catalogue: host.catalogue, now: now)
  }

  func abandon(
    _ transaction: Transaction, _ object: Identifier, byteCount: Int64, of id: Identifier
  ) throws {
    try Reservations.abandon(transaction, object, byteCount: byteCount) {
      let found = try transaction.first(
        "SELECT owner_id, object_id FROM sync.files WHERE id = $1", .id(id)
      ) { row in (owner: try row.id(0), object: try row.optionalID(1)) }
      let isUsed = try found?.object == object || Versions.hold(object, of: id, transaction)
      return isUsed ? nil : found?.owner
    }
  }
}

/// Content that is kept in the database.
struct PutSmallContent: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = Contents.pattern
  let bodyByteCountMax = Contents.inlineByteCountMax

  typealias Body = (write: ContentWrite, bytes: [UInt8])

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    (try ContentWrite(request, request.identifier(0)), body)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> WrittenContent {
    try Contents.replace(
      transaction, body.write, with: (.bytes(body.bytes), Int64(body.bytes.count)),
      catalogue: host.catalogue, now: now)
  }

  func respond(_ written: WrittenContent, to input: AccountInput<Body>) -> Response {
    host.count(written).response
  }
}

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
