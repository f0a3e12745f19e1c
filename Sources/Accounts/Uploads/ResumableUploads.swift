import Base
import Endpoints
import HTTPMessages
package import HTTPServer
import HTTPSignatures
import Objects
import Requests
import Storage

/// The requests for contents of every protocol, and uploads that survive a broken connection and the program. A
/// request of the account creates an upload and gets a secret URL, which alone allows appending, asking and
/// cancelling. The last append commits the content as a PUT would then.
package struct ResumableUploads: Sendable {
  static let pattern = "/v1/uploads/{secret}"

  let host: ProtocolHost
  let contents: [any ContentPut]
  let underWay = UploadsUnderWay<Append>()
  /// Repeats the opening of an upload that an older request has not let go of.
  let later = Later(after: .milliseconds(100), capacity: 64)

  package init(_ host: ProtocolHost, of contents: [any ContentPut]) {
    self.host = host
    self.contents = contents
  }

  package var routes: [Route] {
    contents.flatMap { routes(of: $0) } + [
      Route("PATCH", Self.pattern) { head, captures in try proceed(head, captures) },
      Route("HEAD", Self.pattern) { head, captures in try proceed(head, captures) },
      Route("DELETE", Self.pattern) { head, captures in try cancel(head, captures) },
    ]
  }

  private func routes(of content: any ContentPut) -> [Route] {
    [
      Route("PUT", content.pattern) { head, captures in
        guard let dialect = try UploadDialect.creating(head) else {
          return try content.whole(head, captures)
        }
        return try create(content, AccountRequest(head, captures, host.gate), dialect)
      },
      Route("POST", content.pattern) { head, captures in
        let request = try AccountRequest(head, captures, host.gate)
        return try create(content, request, UploadDialect.tus(spokenIn: head))
      },
      Route("OPTIONS", content.pattern) { _, _ in .ready(answer(options)) },
    ]
  }

  package var upkeep: [Upkeep] {
    [
      Upkeep("uploads", isUrgent: true) {
        try endOlder()
        return false
      },
      Upkeep("expired uploads", isUrgent: false) {
        // Their reservations expire by themselves.
        let (now, countMax) = (host.clock.now(), ResumableUpload.expiredCountMax)
        return try host.database.write(for: nil) { transaction in
          try transaction.expireSlice(
            of: "uploads", by: "secret_hash", at: "expires_ms", count: countMax, now: now)
        } == countMax
      },
    ]
  }

  /// Ends the requests whose upload was taken over by a request to another instance, or is gone.
  private func endOlder() throws {
    let mine = underWay.attempts
    guard !mine.isEmpty else { return }
    let current = try host.database.read {
      try ResumableUpload.epochs($0, of: mine.map(\.upload.secretHash))
    }
    for append in mine where current[append.upload.secretHash] != append.upload.epoch {
      append.supersede()
    }
  }

  /// Ends this instance's older request on an upload that a newer request has taken over.
  func endOlder(than upload: ResumableUpload) {
    guard let append = underWay.attempt(upload.key), append.upload.epoch < upload.epoch else {
      return
    }
    append.supersede()
  }

  // MARK: Responses

  private var options: Response {
    Response(
      status: 204,
      headers: [
        ("Tus-Resumable", UploadDialect.tusVersion), ("Tus-Version", UploadDialect.tusVersion),
        ("Tus-Extension", "creation,expiration,termination"),
        ("Tus-Max-Size", "\(host.limits.contentByteCountMax)"),
        ("Upload-Limit", "max-size=\(host.limits.contentByteCountMax)"),
      ], body: .bytes([]))
  }

  /// The fields that describe an upload in the client's dialect.
  func fields(
    _ upload: ResumableUpload, offset: Int64, isComplete: Bool = false, in dialect: UploadDialect
  ) -> [(name: String, value: String)] {
    var fields = [
      (name: "Upload-Offset", value: "\(offset)"), ("Upload-Length", "\(upload.byteCount)"),
    ]
    guard let completion = dialect.completion else {
      return fields + [("Upload-Expires", upload.expires.httpDateText)]
    }
    let life = max(0, (upload.expires - host.clock.now()).milliseconds / 1000)
    fields.append(completion.field(isComplete))
    fields.append(
      (
        "Upload-Limit",
        "max-size=\(host.limits.contentByteCountMax), \(dialect.lifeName)=\(life)"
      ))
    return fields
  }

  /// An admission that answers without looking at the body, which is read and dropped.
  func answer(_ response: Response, bodyByteCount: Int64 = 0) -> Admission {
    Admission(
      body: bodyByteCount == 0 ? .none : .stream(byteCountMax: bodyByteCount, Dropped()),
      finish: { _ in .ready(response) })
  }

  private final class Dropped: BodySink {
    func write(_ bytes: RawSpan) {}
  }

  // MARK: Opening

  /// Opens an upload on the pool, because a store may read it. The request before may need a moment to let go.
  func open(
    _ upload: ResumableUpload, digest: ContentDigest? = nil,
    until end: MonotonicTime = .now() + uploadPatience,
    _ done: @escaping @Sendable (Result<Append, any Error>) -> Void
  ) {
    endOlder(than: upload)
    let accepted = host.pool.submit(for: upload.owner) {
      do throws(ObjectStoreError) {
        let writer = try host.objects.resume(upload.object, at: upload.progress.checkpoint)
        done(.success(Append(upload, writer, host, underWay, digest: digest)))
      } catch .busy {
        let accepted =
          MonotonicTime.now() < end
          && later.submit { open(upload, digest: digest, until: end, done) }
        if !accepted { done(.failure(UploadRefusal.busy)) }
      } catch .incomplete {
        lose(upload)
        done(.failure(UploadRefusal.lost))
      } catch {
        done(.failure(error))
      }
    }
    if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
  }

  func lose(_ upload: ResumableUpload) {
    Log.error("upload.lost", ["object": upload.object.description])
    forget(upload)
  }
}
