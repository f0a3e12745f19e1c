import Base
import Crypto
import Simulation
import TestDevices
import TreeSimulation

/// A resumable upload as its client knows it.
struct HeldUpload {
  let url: String
  let device: TestDevice
  let account: Identifier
  let document: Identifier
  let ifMatch: Int64
  let content: [UInt8]
  let reservation: Int
  /// What the server has told to be durable. It never falls.
  var acknowledged = 0
  /// As far as bytes were ever sent.
  var arrived = 0
  /// Counts the requests on it: each ends the one before.
  var turn = 0
  /// The final answer; nil while the upload is open.
  var result: Int?
  var isCancelled = false
}

/// Steps of resumable uploads.
extension ContentStory {
  private static let version = ("Upload-Draft-Interop-Version", "8")

  func beginUpload() throws {
    guard uploads.count < 8, let document = anyDocument() else { return try continueUpload() }
    let person = anyone(document)
    let (content, ifMatch) = (content(atLeast: 2), version(of: document))
    let first = chance(30) ? number(1...content.count - 1) : 0
    let request = person.device.sign(
      "PUT", "/v1/files/\(document)/content", body: first > 0 ? Array(content[..<first]) : nil,
      headers: [Self.version, ("Upload-Complete", "?0")],
      covering: [
        ("If-Match", "\"\(ifMatch)\""), ("Upload-Length", "\(content.count)"),
        ("Repr-Digest", "sha-256=:\(Base64.standard.encode(SHA256.hash(content))):"),
      ])
    let (answer, refusal) = try sendReserving(
      request, person, document, ifMatch: ifMatch, byteCount: content.count)
    try require(answer, refusal ?? 201, "beginning to upload \(document)")
    guard refusal == nil else { return }
    guard let url = answer.header("location"), let owner = model.nodes[document]?.owner else {
      throw UnexpectedAnswer(answer)
    }
    let number = reservation(
      .init(
        owner: owner, document: document, writer: person.account, byteCount: Int64(content.count),
        expires: server.now + ContentModel.uploadSpan))
    uploads.append(
      HeldUpload(
        url: url, device: person.device, account: person.account, document: document,
        ifMatch: ifMatch, content: content, reservation: number, acknowledged: first, arrived: first
      ))
  }

  func continueUpload() throws {
    guard !uploads.isEmpty else { return try write() }
    let index = number(0...uploads.count - 1)
    let url = uploads[index].url
    guard isOpen(uploads[index]) else {
      try requireEnd(url)
      return uploads.removeAll { $0.url == url }
    }
    switch number(1...10) {
    case ...2: try ask(url)
    case 3: try cancel(url)
    case ...6: try append(url, holds: true)
    default: try append(url, holds: false)
    }
  }

  private func isOpen(_ upload: HeldUpload) -> Bool {
    guard upload.result == nil, !upload.isCancelled else { return false }
    return model.reservations[upload.reservation].map { $0.expires > server.now } ?? false
  }

  private func request(
    _ upload: HeldUpload, _ method: String, _ headers: [(String, String)] = [],
    body: ArraySlice<UInt8> = []
  ) -> TestDevice.Signed {
    .init(
      method: method, target: upload.url, headers: [Self.version] + headers, body: Array(body))
  }

  private func change(_ url: String, _ body: (inout HeldUpload) -> Void) {
    guard let index = uploads.firstIndex(where: { $0.url == url }) else { return }
    body(&uploads[index])
  }

  private func upload(_ url: String) throws -> HeldUpload {
    guard let upload = uploads.first(where: { $0.url == url }) else {
      throw Mismatch("an upload is not known")
    }
    return upload
  }

  func noteArrival(of request: HeldRequest) {
    guard let (url, offset) = request.upload else { return }
    change(url) { $0.arrived = max($0.arrived, offset + request.sentCount) }
  }

  /// An upload that has ended answers as it did, or is not there.
  private func requireEnd(_ url: String) throws {
    let upload = try upload(url)
    let answer = try upload.device.send(request(upload, "HEAD"))
    let isGone = upload.isCancelled || upload.result == nil
    let isKept = upload.result == 200 ? 204 : upload.result
    guard answer.status == 404 || !isGone && answer.status == isKept else {
      throw Mismatch("an upload ended with \(upload.result ?? 404), and answers \(answer.status)")
    }
  }

  /// Asks how far the upload is. What was acknowledged never falls.
  func ask(_ url: String) throws {
    change(url) { $0.turn += 1 }
    let upload = try upload(url)
    let answer = try upload.device.send(request(upload, "HEAD"))
    note("HEAD \(answer.status) \(answer.header("upload-offset") ?? "")")
    if answer.header("upload-complete") == "?1" || answer.status >= 400 {
      return try end(url, answer)
    }
    guard answer.status == 204, let offset = answer.header("upload-offset").flatMap({ Int($0) }),
      offset >= upload.acknowledged, offset <= upload.arrived
    else {
      throw Mismatch(
        "\(upload.acknowledged) bytes were acknowledged, \(upload.arrived) arrived: \(answer.status) "
          + "\(answer.header("upload-offset") ?? "")")
    }
    progress(url, to: offset)
  }

  private func progress(_ url: String, to offset: Int) {
    guard let upload = uploads.first(where: { $0.url == url }), offset > upload.acknowledged else {
      return
    }
    change(url) { $0.acknowledged = offset }
    model.reservations[upload.reservation]?.expires = server.now + ContentModel.uploadSpan
  }

  private func cancel(_ url: String) throws {
    change(url) { $0.turn += 1 }
    let upload = try upload(url)
    var answer: Answer?
    let mishap = try mishaps.during(25) {
      answer = try upload.device.send(request(upload, "DELETE"))
    }
    if mishap == .cut { try crash() }
    if mishap != nil { answer = try upload.device.send(request(upload, "DELETE")) }
    // The first may have been carried out.
    guard answer?.status == 204 || mishap != nil && answer?.status == 404 else {
      throw Mismatch("cancelling: \(answer?.status ?? 0)")
    }
    change(url) { $0.isCancelled = true }
    model.reservations[upload.reservation] = nil
    note("cancelled")
  }

  /// Appends to the upload, at once, or so that later steps send the bytes.
  private func append(_ url: String, holds: Bool) throws {
    try ask(url)
    change(url) { $0.turn += 1 }
    let upload = try upload(url)
    guard isOpen(upload) else { return }
    let (start, whole) = (upload.acknowledged, upload.content.count)
    let end = start == whole || chance(50) ? whole : number(start + 1...whole)
    let request = request(
      upload, "PATCH",
      [
        ("Upload-Offset", "\(start)"), ("Upload-Complete", end == whole ? "?1" : "?0"),
        ("Content-Type", "application/partial-upload"),
      ], body: upload.content[start..<end])
    var begun: DirectExchange?
    let mishap = try mishaps.during(10) { begun = try server.begin(request) }
    if mishap == .cut { try crash() }
    guard let exchange = begun, mishap == nil || exchange.answer == nil, mishap != .cut else {
      return try ask(url)
    }
    let appending = HeldRequest(
      exchange: exchange, request: request, device: upload.device, account: upload.account,
      document: upload.document, ifMatch: upload.ifMatch, begun: server.now,
      reservation: upload.reservation, upload: (url, start), turn: upload.turn)
    if holds, exchange.answer == nil {
      held.append(appending)
      return note("holds a PATCH of \(end - start)")
    }
    try finishHeld(appending)
  }

  /// The end of an append. `answer` is nil, or blames the server, if something went wrong: then the client asks.
  func endAppend(_ request: HeldRequest, _ answer: Answer?, _ mishap: Mishaps.Kind?) throws {
    guard let (url, start) = request.upload,
      let upload = uploads.first(where: { $0.url == url })
    else { return }
    let end = start + request.request.body.count
    if mishap != nil, answer.map({ $0.status == 503 || mishap == .cut }) ?? true {
      return try ask(url)
    }
    guard let answer else { throw Mismatch("no answer to an append") }
    // A newer request took the upload over, or it ended or expired meanwhile.
    let isNewest = upload.turn == request.turn && isOpen(upload)
    if !isNewest, [404, 409, 410, 503].contains(answer.status) { return }
    if answer.status == 204, end < upload.content.count { return progress(url, to: end) }
    // A client waits and asks again. How long the server waits for the older request depends on the machine's load.
    if try answer.problem == "upload_busy" { return try ask(url) }
    guard end == upload.content.count else {
      throw Mismatch("an append of \(start)..<\(end): \(UnexpectedAnswer(answer))")
    }
    try finish(url, answer)
  }

  /// The final answer that a question got.
  private func end(_ url: String, _ answer: Answer) throws {
    let upload = try upload(url)
    if answer.status == 404, !isOpen(upload) { return change(url) { $0.isCancelled = true } }
    try finish(url, answer)
  }

  /// Compares the final answer with the model, which then follows.
  private func finish(_ url: String, _ answer: Answer) throws {
    let upload = try upload(url)
    guard upload.result == nil else { return }
    let verdict = model.judge(
      upload.document, by: upload.account, ifMatch: upload.ifMatch,
      byteCount: Int64(upload.content.count), at: server.now)
    var expected = 200
    if case .refused(let status) = verdict { expected = status }
    let status = answer.status == 204 ? 200 : answer.status
    if !isOpen(upload), [404, 409].contains(status) {
      return change(url) { $0.isCancelled = true }
    }
    guard status == expected else {
      throw Mismatch(
        "the end of an upload of \(upload.document): \(expected) expected, "
          + "got \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    }
    progress(url, to: upload.content.count)
    if status >= 500 || status == 429 { return }
    change(url) { $0.result = status }
    model.reservations[upload.reservation] = nil
    guard status == 200 else { return }
    let tag = answer.header("etag")?.filter { $0 != "\"" }
    guard let number = tag.flatMap({ Int64($0) }) else { throw UnexpectedAnswer(answer) }
    acceptedCount += 1
    model.replace(
      upload.document, with: upload.content, number: number, verdict, at: server.now)
  }
}
