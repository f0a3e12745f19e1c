import Base
import Endpoints
import HTTPMessages
import Requests
import Storage

/// The end of a request that appended, and of the upload with its last byte.
extension ResumableUploads {
  /// Makes durable what the request appended; then, with the last byte, the content visible. Blocks.
  func settle(_ append: Append, completes: Bool, _ request: UploadRequest) throws -> Response {
    defer { append.close() }
    request.meter.charge(Price.content(request.append?.byteCount ?? 0), for: .content)
    var upload = append.upload
    try append.checkBody()
    do { try append.save(isLast: true) } catch {
      if append.isLost { lose(upload) }
      throw error
    }
    if append.offset > upload.offset {
      upload.expires = ResumableUpload.expiry(host.clock.now(), ends: upload.ends)
    }
    guard completes else {
      return Response(
        status: 204, headers: fields(upload, offset: append.offset, in: request.dialect),
        body: .bytes([]))
    }
    do {
      guard append.digest == upload.digest else { throw UploadRefusal.digestWrong }
      try append.finish()
      return try commit(upload, request)
    } catch {
      let problem = Endpoints.problem(for: error, request.head)
      // These pass, e.g. by an upgrade of the plan; any other refusal stays.
      guard problem.status < 500, problem.status != 429 else { throw problem }
      let upload = append.upload
      try host.database.write(for: upload.key) { transaction in
        try refuse(transaction, upload, problem, request.head)
      }
      throw problem
    }
  }

  /// Judges the write as of now, by the code of a PUT, and records its answer in the same transaction. The answer is
  /// the recorded one, without a secret such as a link's token: who has the URL may only append.
  private func commit(_ upload: ResumableUpload, _ request: UploadRequest) throws -> Response {
    guard let content = contents.first(where: { $0.kind == upload.kind }) else {
      throw UploadRefusal.notFound
    }
    let write = try upload.write(request.meter)
    let (written, outcome) = try host.database.write(for: upload.key) { transaction in
      let now = host.clock.now()
      let written = try content.commit(
        transaction, write, upload.object, byteCount: upload.byteCount, now: now)
      let outcome = Outcome(written.recorded.response)
      try upload.end(transaction, with: outcome, now: now)
      return (written, outcome)
    }
    _ = host.count(written)
    return final(upload, outcome, for: request)
  }

  /// Ends an upload for good. Its reservation goes, and its bytes are garbage. If the reservation has ended before, the
  /// collector may have come before the object was finished. `end` throws if the object is in use.
  func refuse(
    _ transaction: Transaction, _ upload: ResumableUpload, _ problem: Problem, _ head: RequestHead
  ) throws {
    try Reservations.abandon(transaction, upload.object, byteCount: upload.byteCount) {
      upload.owner
    }
    try upload.end(
      transaction, with: Outcome(problem.response(requestID: head.requestID)),
      now: host.clock.now())
  }

  func final(
    _ upload: ResumableUpload, _ outcome: Outcome, for request: UploadRequest
  ) -> Response {
    let headers = outcome.headers.map { (name: $0.name, value: $0.value) }
    guard outcome.status < 300 else {
      return Response(status: outcome.status, headers: headers, body: .bytes(outcome.body))
    }
    let fields = fields(
      upload, offset: upload.byteCount, isComplete: true, in: request.dialect)
    let tag = headers.filter { $0.name == "ETag" }
    switch (request.dialect, request.append == nil) {
    case (.tus, true): return Response(status: 200, headers: fields + tag, body: .bytes([]))
    case (_, true), (.tus, _):
      return Response(status: 204, headers: fields + tag, body: .bytes([]))
    default:
      return Response(
        status: outcome.status, headers: headers + fields, body: .bytes(outcome.body))
    }
  }
}

extension Outcome {
  /// A whole response, with its media type among the headers.
  fileprivate init(_ response: Response) {
    var bytes: [UInt8] = []
    if case .bytes(let body) = response.body { bytes = body }
    self.init(
      status: response.status, headers: response.headers.map { ($0.name, $0.value) }, body: bytes)
  }
}
