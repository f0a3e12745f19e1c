import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

/// `PUT /v1/files/{id}/content`: replaces a document's content if it is at the version in If-Match.
/// Small content stays in memory; large content goes through an object.
struct PutContent: Sendable {
  let host: ProtocolHost
  let resumable: ResumableUploads
  let uploads = UploadsUnderWay<ContentUpload.Attempt>()
  /// Retries requests that wait for an earlier attempt of their own.
  let later = Later(after: .milliseconds(100), capacity: Self.waitingCountMax)

  /// The most requests that may wait for an earlier attempt at one time.
  private static let waitingCountMax = 64

  var route: Route {
    let small = PutSmallContent(host: host)
    let large = PutLargeContent(host: host, uploads: uploads)
    return Route("PUT", Contents.pattern) { head, captures in
      if let dialect = try UploadDialect.creating(head) {
        return try resumable.create(AccountRequest(head, captures, host.gate), dialect)
      }
      // Without a length the server refuses the body itself (411), so either path works.
      let isSmall = (head.contentLength ?? 0) <= Int64(Contents.inlineByteCountMax)
      return isSmall
        ? try small.admission(head, captures, on: host.database)
        : try large.admission(
          head, captures, on: host.database, pool: host.pool, later: later)
    }
  }
}

/// Content that is kept in the database.
struct PutSmallContent: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = Contents.pattern
  let bodyByteCountMax = Contents.inlineByteCountMax

  struct Body: Sendable {
    let write: ContentWrite
    let bytes: [UInt8]
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    Body(write: try ContentWrite(request, request.identifier(0)), bytes: body)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Contents.Replaced {
    try Contents.replace(
      transaction, body.write, with: .inline(body.bytes), catalogue: host.catalogue, now: now)
  }

  func respond(_ replaced: Contents.Replaced, to input: AccountInput<Body>) -> Response {
    host.count(replaced).response
  }
}

extension ProtocolHost {
  /// Counted once the write is durable, because a transaction may run more than once.
  func count(_ replaced: Contents.Replaced) -> Outcome {
    if let owner = replaced.owner { transfers.received(replaced.byteCount, of: owner) }
    return replaced.outcome
  }
}
