import Base
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import Requests
import Storage

/// A request to the URL of an upload.
struct UploadRequest: Sendable {
  let head: RequestHead
  let dialect: UploadDialect
  let secretHash: [UInt8]
  /// See `ResumableUpload.key`.
  var key: Identifier { ResumableUpload.key(secretHash) }
  let meter: RequestMeter
  /// Where its bytes go; nil if it only asks.
  let append: Place?
  /// What it announces of its own bytes; it need not.
  let digest: ContentDigest?

  struct Place: Sendable {
    let offset: Int64
    let byteCount: Int64
    /// Whether the client states that these are the last bytes; nil if the length decides.
    let completes: Bool?
  }

  init(_ head: RequestHead, _ captures: [Substring], _ gate: RequestGate) throws {
    self.head = head
    secretHash = ResumableUpload.hash(secret: String(captures[0]))
    meter = try gate.meter(ofSecret: secretHash, head)
    guard let dialect = try UploadDialect.spoken(head) else {
      throw UploadRefusal.versionUnsupported
    }
    self.dialect = dialect
    guard head.method == "PATCH" else {
      (append, digest) = (nil, nil)
      return
    }
    guard dialect.accepts(head.headers) else {
      throw UploadRefusal.mediaTypeInvalid(dialect.mediaType ?? "")
    }
    let completes = try dialect.completion?.value(head.headers)
    if let completion = dialect.completion, completes == nil {
      throw UploadRefusal.fieldInvalid(completion.name, "is missing")
    }
    append = Place(
      offset: try head.headers.uploadNumber("Upload-Offset"), byteCount: head.contentLength ?? 0,
      completes: completes)
    guard let field = head.headers.combined("content-digest") else {
      digest = nil
      return
    }
    do { digest = try ContentDigest.parse(field) } catch {
      throw UploadRefusal.fieldInvalid("Content-Digest", "must be sha-256 or sha-512 of the body")
    }
  }
}

extension ResumableUploads {
  private enum Taken: Sendable {
    case proceed(ResumableUpload, completes: Bool)
    case answer(ResumableUpload, Response)
    case refuse(ResumableUpload, UploadRefusal)
  }

  /// Appends to an upload, or reports how far it is.
  func proceed(_ head: RequestHead, _ captures: [Substring]) throws -> Step<Admission> {
    let request = try UploadRequest(head, captures, host.gate)
    return try host.database.step(after: inquiry(request)) {
      .pending { done in
        let older = underWay.attempt(request.key)
        let isWaiting = older.map { older in
          host.pool.submit(for: older.upload.owner) {
            older.yield()
            take(request, done)
          }
        }
        if isWaiting != true { take(request, done) }
      }
    }
  }

  /// Refuses a guessed secret before anything is written.
  private func inquiry(_ request: UploadRequest) -> Inquiry? {
    guard !request.meter.isCounted else { return nil }
    return { reader in
      guard try ResumableUpload.exists(reader, request.secretHash, now: host.clock.now()) else {
        request.meter.reject()
        throw UploadRefusal.notFound
      }
    }
  }

  private func take(
    _ request: UploadRequest, _ done: @escaping @Sendable (Result<Admission, any Error>) -> Void
  ) {
    host.database.submitWrite(for: request.key) { transaction in
      try take(transaction, request)
    } completion: { result in
      switch result {
      case .failure(let error): done(.failure(error))
      case .success(.answer(let upload, let response)):
        endOlder(than: upload)
        done(.success(answer(response, bodyByteCount: request.append?.byteCount ?? 0)))
      case .success(.refuse(let upload, let refusal)):
        endOlder(than: upload)
        for field in fields(upload, offset: upload.offset, in: request.dialect) {
          request.head.answerFields.set(field.name, field.value)
        }
        done(.failure(refusal))
      case .success(.proceed(let upload, let completes)):
        open(upload, digest: request.digest) { result in
          done(result.map { append in admission(append, completes, request) })
        }
      }
    }
  }

  private func upload(
    _ transaction: Transaction, of request: UploadRequest, now: Instant
  ) throws -> ResumableUpload {
    guard let upload = try ResumableUpload.take(transaction, request.secretHash, now: now) else {
      request.meter.reject()
      throw UploadRefusal.notFound
    }
    return upload
  }

  /// Decides without throwing, so that even a refused request ends the older one.
  private func take(_ transaction: Transaction, _ request: UploadRequest) throws -> Taken {
    let now = host.clock.now()
    let upload = try upload(transaction, of: request, now: now)
    let caller = try Caller(transaction, upload.write(request.meter).credentials, now: now)
    if let outcome = upload.outcome {
      return .answer(upload, final(upload, outcome, for: request))
    }
    // Who shares nothing with the owner any more holds no room of it. All else is judged at the end.
    guard
      try caller.account == upload.owner
        || Contacts.areContacts(transaction, caller.account, upload.owner)
    else {
      try refuse(transaction, upload, UploadRefusal.notFound.problem, request.head)
      return .refuse(upload, .notFound)
    }
    guard let append = request.append else {
      // A tus client takes an upload for done when all bytes are there, so the answer must be the final one.
      if request.dialect == .tus, upload.offset == upload.byteCount {
        return .proceed(upload, completes: true)
      }
      return .answer(
        upload,
        Response(
          status: request.dialect == .tus ? 200 : 204,
          headers: fields(upload, offset: upload.offset, in: request.dialect), body: .bytes([])))
    }
    guard append.offset == upload.offset else {
      return .refuse(upload, .offsetWrong(current: upload.offset))
    }
    let end = append.offset + append.byteCount
    guard end <= upload.byteCount else {
      try refuse(
        transaction, upload, UploadRefusal.tooLong(max: upload.byteCount).problem, request.head)
      return .refuse(upload, .tooLong(max: upload.byteCount))
    }
    let completes = append.completes ?? (end == upload.byteCount)
    guard end == upload.byteCount || !completes else {
      return .refuse(upload, .tooShort(byteCount: upload.byteCount))
    }
    return .proceed(upload, completes: completes)
  }

  private func admission(
    _ append: Append, _ completes: Bool, _ request: UploadRequest
  ) -> Admission {
    let byteCount = request.append?.byteCount ?? 0
    return Admission(
      body: byteCount == 0 ? .none : .stream(byteCountMax: byteCount, append),
      finish: { _ in
        .pending { done in
          let accepted = host.pool.submit(for: append.upload.owner) {
            done(Result { try settle(append, completes: completes, request) })
          }
          guard !accepted else { return }
          append.close()
          done(.failure(DatabaseError.busy(retryAfterSeconds: 1)))
        }
      },
      abandon: {
        let accepted = host.pool.submit(for: append.upload.owner) {
          append.suspend()
          if append.isLost { lose(append.upload) }
        }
        if !accepted { append.close() }
      })
  }

  /// Cancels an upload. Whether its creator may still write does not matter.
  func cancel(_ head: RequestHead, _ captures: [Substring]) throws -> Step<Admission> {
    let request = try UploadRequest(head, captures, host.gate)
    return try host.database.step(after: inquiry(request)) {
      .pending { done in
        host.database.submitWrite(for: request.key) { transaction in
          let upload = try upload(transaction, of: request, now: host.clock.now())
          if upload.outcome == nil { try Reservations.release(transaction, upload.object) }
          try ResumableUpload.delete(transaction, of: upload.object)
          return upload
        } completion: { (result: Result<ResumableUpload, any Error>) in
          done(
            result.map { upload in
              endOlder(than: upload)
              return answer(.empty(204))
            })
        }
      }
    }
  }
}
