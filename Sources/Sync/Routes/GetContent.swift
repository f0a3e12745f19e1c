import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

/// `GET /v1/files/{id}/content?version=<n>`: the content or a range of it, with its version as entity tag. Without
/// `version` it is the latest.
struct GetContent: SyncRead {
  let host: ProtocolHost
  let pattern = Contents.pattern
  let isLong = true

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> Contents.Found {
    try Contents.find(
      reader, request.credentials, request.identifier(0), version: Self.version(request), now: now)
  }

  private static func version(_ request: AccountRequest) throws(Refusal) -> Int64? {
    guard let text = queryFields(request.head.query).first(where: { $0.name == "version" })?.value
    else { return nil }
    guard let number = Int64(text), number > 0 else { throw .versionNotFound }
    return number
  }

  /// Large content is opened on the pool, because the object store may be another machine. Readers of the
  /// database do not wait for it.
  func perform(
    _ request: AccountRequest, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    .pending { done in
      database.submitRead(
        for: lane(request), { reader in try read(reader, request) }
      ) { result in
        guard case .success(let found) = result, case .object = found.place else {
          return done(result.flatMap { found in Result { try respond(found, to: request) } })
        }
        let accepted = host.pool.submit(for: found.owner) {
          done(Result { try respond(found, to: request) })
        }
        if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
      }
    }
  }

  func respond(_ found: Contents.Found, to request: AccountRequest) throws -> Response {
    let (response, byteCount) = try Download(found, host.objects, pool: host.pool)
      .response(to: request.head)
    // The client's own cache may keep the ciphertext of a version for ever. It asks whether the latest is still that.
    // A link to the object store ends soon.
    let isVersion = try Self.version(request) != nil
    let caching =
      if response.status == 307 {
        "no-store"
      } else if isVersion {
        "private, max-age=31536000, immutable"
      } else {
        "private, no-cache"
      }
    request.head.answerFields.set("Cache-Control", caching)
    if byteCount > 0 {
      request.credentials.meter.charge(Price.content(byteCount), for: .content)
      host.transfers.sent(byteCount, of: found.owner)
    }
    return response
  }
}
