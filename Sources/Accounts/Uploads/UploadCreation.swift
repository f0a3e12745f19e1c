import Base
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import Objects
import Requests
import Storage

/// What a request that creates an upload announces of the whole content.
private struct AnnouncedContent: Sendable {
  let content: any ContentPut
  let write: ContentWrite
  let ifMatch: String
  let digest: [UInt8]
  let byteCount: Int64

  /// A signature must cover all of it, because the appends are not signed.
  init(
    of content: any ContentPut, _ request: AccountRequest, byteCountMax: Int64
  ) throws {
    self.content = content
    let headers = request.head.headers
    if case .signed(let signature) = request.credentials.proof {
      do { try signature.require(["if-match", "repr-digest", "upload-length"]) } catch {
        throw RequestRefusal.signature(error)
      }
    }
    guard headers.combined("if-none-match") == nil else {
      throw UploadRefusal.fieldInvalid("If-None-Match", "cannot be combined with an upload")
    }
    guard let field = headers.combined("repr-digest"), let parsed = try? ContentDigest.parse(field),
      let digest = parsed.values.first(where: { $0.algorithm == .sha256 })
    else {
      throw UploadRefusal.fieldInvalid("Repr-Digest", "must be sha-256 of the whole content")
    }
    byteCount = try headers.uploadNumber("Upload-Length")
    guard byteCount > 0 else {
      throw UploadRefusal.fieldInvalid("Upload-Length", "must be above 0: send no bytes by PUT")
    }
    guard byteCount <= byteCountMax else { throw UploadRefusal.tooLarge(max: byteCountMax) }
    write = try ContentWrite(
      request.credentials, content.id(request), query: request.head.query, headers, digest: parsed,
      createsUpload: true)
    ifMatch = headers.text("if-match") ?? ""
    self.digest = digest.bytes
  }
}

extension Headers {
  /// The number of a field that an upload needs.
  func uploadNumber(_ name: String) throws(UploadRefusal) -> Int64 {
    guard let text = text(name.lowercased()), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      text.utf8.count <= 15, let number = Int64(text)
    else { throw .fieldInvalid(name, "must be a number of bytes") }
    return number
  }
}

extension ResumableUploads {
  /// Creates an upload. The body may hold its first bytes. The URL is only in the answer, so a request that breaks
  /// off leaves nothing behind. A stranger is refused before `dialect` may refuse.
  func create(
    _ content: any ContentPut, _ request: AccountRequest,
    _ dialect: @autoclosure @escaping @Sendable () throws -> UploadDialect
  ) throws -> Step<Admission> {
    try host.database.step(after: host.gate.inquiry(request.credentials)) {
      let dialect = try dialect()
      let announced = try AnnouncedContent(
        of: content, request, byteCountMax: host.limits.contentByteCountMax)
      let hasBody = (request.head.contentLength ?? 0) > 0
      if !hasBody { _ = try request.checked([]) }
      let secret = Base64.url.encode(Random.bytes(32))
      let object = Random.identifier()
      return .pending { done in
        host.database.submitWrite(for: request.credentials.lane) { transaction in
          try insert(transaction, announced, secret: secret, object)
        } completion: { (result: Result<ResumableUpload, any Error>) in
          switch result {
          case .failure(let error): done(.failure(error))
          case .success(let upload):
            guard hasBody else {
              return done(.success(answer(created(upload, secret, offset: 0, dialect))))
            }
            open(upload, digest: request.digest) { result in
              if case .failure = result { forget(upload) }
              done(
                result.map { append in
                  Admission(
                    body: .stream(byteCountMax: upload.byteCount, append),
                    finish: { _ in
                      begin(append) {
                        created(upload, secret, offset: append.offset, dialect)
                      }
                    }, abandon: { forget(upload) })
                })
            }
          }
        }
      }
    }
  }

  /// Reserves room for an upload. It replaces the device's earlier one of the same content, whose URL it may not
  /// have.
  private func insert(
    _ transaction: Transaction, _ announced: AnnouncedContent, secret: String, _ object: Identifier
  ) throws -> ResumableUpload {
    let now = host.clock.now()
    let write = announced.write
    let locked = try announced.content.lock(transaction, write, now: now)
    guard try Nonces.recorded(transaction, write.credentials) == nil else {
      throw RequestRefusal.replayed
    }
    if let earlier = try Reservations.earlier(transaction, locked.caller, write.identity) {
      try Reservations.release(transaction, earlier.object)
      try ResumableUpload.delete(transaction, of: earlier.object)
    }
    let ends = now + ResumableUpload.lifetimeMax
    let expires = ResumableUpload.expiry(now, ends: ends)
    let owner = try locked.reserve(
      ReservedObject(object, byteCount: announced.byteCount, instance: nil, until: expires))
    let upload = ResumableUpload(
      secretHash: ResumableUpload.hash(secret: secret), object: object, owner: owner,
      kind: announced.content.kind, subject: write.id, actorKey: locked.caller.publicKey,
      sessionHash: write.credentials.proof.tokenHash, ifMatch: announced.ifMatch,
      query: write.query.map(String.init), digest: announced.digest,
      byteCount: announced.byteCount, progress: .none, epoch: 1, expires: expires, ends: ends,
      outcome: nil)
    try upload.insert(transaction)
    try ResumableUpload.forgetAnswered(transaction, of: owner)
    return upload
  }

  /// Ends the first bytes of an upload, if they are the announced ones.
  private func begin(
    _ append: Append, _ answer: @escaping @Sendable () -> Response
  ) -> Step<Response> {
    .pending { done in
      let accepted = host.pool.submit(for: append.upload.owner) {
        let result = Result {
          try append.checkBody()
          try append.save(isLast: true)
          append.close()
          return answer()
        }
        if case .failure = result {
          append.supersede()
          try? host.database.write(for: append.upload.key) { transaction in
            try forget(transaction, append.upload)
          }
        }
        done(result)
      }
      guard !accepted else { return }
      forget(append.upload)
      done(.failure(DatabaseError.busy(retryAfterSeconds: 1)))
    }
  }

  /// Ends an upload whose URL no client knows, or whose bytes are lost.
  func forget(_ upload: ResumableUpload) {
    underWay.attempt(upload.key)?.supersede()
    host.database.submitWrite(for: upload.key) { transaction in
      try forget(transaction, upload)
    } completion: { _ in
      // Failing that, it expires by itself.
    }
  }

  private func forget(_ transaction: Transaction, _ upload: ResumableUpload) throws {
    try Reservations.release(transaction, upload.object)
    try ResumableUpload.delete(transaction, of: upload.object)
  }

  private func created(
    _ upload: ResumableUpload, _ secret: String, offset: Int64, _ dialect: UploadDialect
  ) -> Response {
    Response(
      status: 201,
      headers: [("Location", "/v1/uploads/\(secret)")]
        + fields(upload, offset: offset, in: dialect), body: .bytes([]))
  }
}
