import Base
import HTTPMessages
import JSON
import SeededRandom
import Simulation
import Storage
import TestDevices
import TreeSimulation

/// A request whose body is under way.
struct HeldRequest {
  let exchange: DirectExchange
  let request: TestDevice.Signed
  let device: TestDevice
  let account: Identifier
  let document: Identifier
  let ifMatch: Int64
  let begun: Instant
  /// The number of its reservation in the model; of an append, the upload's.
  let reservation: Int
  /// The upload that it appends to, by its URL, and where.
  var upload: (url: String, offset: Int)?
  /// The place of an append among the requests on its upload.
  var turn = 0
  var sentCount = 0
}

/// Steps that write contents.
extension ContentStory {
  private static let reservationCountMax = 16
  private static let reservationsOfOthersMax = 12
  private static let reservationsOfOneMax = 4

  /// A content that differs from every other.
  func content(atLeast min: Int = 0) -> [UInt8] {
    let ranges = [0...300, 0...300, 16_380...16_390, 17_000...60_000, 17_000...60_000]
    let range = isLarge && chance(60) ? 1_000_000...3_000_000 : ranges[number(0...4)]
    let block = random.bytes(count: 256)
    let count = max(min, number(range))
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += block }
    return Array(bytes.prefix(count))
  }

  func anyDocument() -> Identifier? {
    let documents = model.order.filter { model.nodes[$0]?.isFolder == false }
    // Mostly those that still can be written.
    let live = documents.filter { model.isLive($0) }
    return (chance(85) && !live.isEmpty ? live : documents).randomElement(using: &random)
  }

  /// Mostly one who can see the document.
  func anyone(_ document: Identifier) -> Person {
    let seeing = people.filter { model.mayWrite($0.account, document) != nil }
    return (chance(85) ? seeing : people).randomElement(using: &random) ?? people[0]
  }

  func version(of document: Identifier) -> Int64 {
    let current = model.nodes[document]?.content.number ?? 0
    return chance(90) ? current : current + 1
  }

  /// Whether an upload may begin: judged before its first byte, beside the uploads under way.
  func reservationVerdict(
    _ document: Identifier, _ account: Identifier, ifMatch: Int64, byteCount: Int
  ) throws -> Int? {
    guard let owner = model.nodes[document]?.owner else { return 404 }
    let reserved = model.reserved(owner, at: server.now)
    let (sum, count) = (reserved.reduce(0) { $0 + $1.byteCount }, Int64(byteCount))
    // Who may not write learns nothing else.
    let verdict = model.judge(
      document, by: account, ifMatch: ifMatch, byteCount: count, beside: reserved, at: server.now)
    if case .refused(let status) = verdict, status != 507, status != 429 { return status }
    if reserved.count >= Self.reservationCountMax { return 429 }
    if account != owner,
      reserved.count(where: { $0.writer == account }) >= Self.reservationsOfOneMax
        || reserved.count(where: { $0.writer != owner }) >= Self.reservationsOfOthersMax
    {
      return 429
    }
    if case .refused(let status) = verdict { return status }
    let kept = try ContentRows(server.database).accounts[owner]?.kept ?? 0
    let charged = max(model.accounts[owner]?.cap ?? 0, model.liveByteCount(owner))
    return kept + sum + count <= 2 * charged + 32 << 20 ? nil : 429
  }

  func write() throws {
    guard let document = anyDocument() else { return }
    let person = anyone(document)
    let (content, ifMatch) = (content(), version(of: document))
    let request = person.device.sign(
      "PUT", "/v1/files/\(document)/content", body: content,
      headers: [("If-Match", "\"\(ifMatch)\"")])
    let isLarge = content.count > 16 * 1024
    if isLarge, chance(30) {
      return try hold(request, person, document, ifMatch: ifMatch)
    }
    guard isLarge else {
      return try finishWrite(
        try send(request, person.device), nil, document, person.account, ifMatch, content)
    }
    let (answer, refusal) = try sendReserving(
      request, person, document, ifMatch: ifMatch, byteCount: content.count)
    try finishWrite(answer, refusal, document, person.account, ifMatch, content)
  }

  /// Sends a request that begins an upload. A crash ends the requests under way, so that a repeat may find room.
  func sendReserving(
    _ request: TestDevice.Signed, _ person: Person, _ document: Identifier, ifMatch: Int64,
    byteCount: Int
  ) throws -> (answer: Answer, refusal: Int?) {
    func verdict() throws -> Int? {
      try reservationVerdict(document, person.account, ifMatch: ifMatch, byteCount: byteCount)
    }
    let (before, count) = (try verdict(), crashCount)
    let answer = try send(request, person.device)
    // What was accepted before the crash needs no room again.
    let isSettled = crashCount == count || before == nil && answer.status < 300
    return (answer, isSettled ? before : try verdict())
  }

  /// Compares the answer with the model, which then follows. `refusal` is that of the reservation.
  func finishWrite(
    _ answer: Answer, _ refusal: Int?, _ document: Identifier, _ account: Identifier,
    _ ifMatch: Int64, _ content: [UInt8]
  ) throws {
    let verdict = model.judge(
      document, by: account, ifMatch: ifMatch, byteCount: Int64(content.count), at: server.now)
    var expected = refusal ?? 200
    if refusal == nil, case .refused(let status) = verdict { expected = status }
    try require(answer, expected, "content of \(document)")
    guard expected == 200 else { return }
    guard let number = try answer.json["version"].integer else { throw UnexpectedAnswer(answer) }
    model.replace(document, with: content, number: number, verdict, at: server.now)
    if mistake == .miscounts, chance(10), let owner = model.nodes[document]?.owner {
      try server.database.write(for: nil) { transaction in
        try transaction.execute(
          "UPDATE sync.accounts SET usage_bytes = usage_bytes + 1 WHERE id = $1", .id(owner))
      }
    }
  }

  /// Sends the head of a request and keeps its body for later steps.
  private func hold(
    _ request: TestDevice.Signed, _ person: Person, _ document: Identifier, ifMatch: Int64
  ) throws {
    let refusal = try reservationVerdict(
      document, person.account, ifMatch: ifMatch, byteCount: request.body.count)
    let exchange = try server.begin(request)
    if let answer = exchange.answer {
      return try require(try Answer(answer), refusal ?? 200, "beginning to write \(document)")
    }
    guard refusal == nil, let owner = model.nodes[document]?.owner else {
      throw Mismatch("a write of \(document) began, and \(refusal ?? 404) was expected")
    }
    let number = reservation(
      .init(
        owner: owner, document: document, writer: person.account,
        byteCount: Int64(request.body.count),
        expires: server.now + ContentModel.requestSpan))
    held.append(
      HeldRequest(
        exchange: exchange, request: request, device: person.device, account: person.account,
        document: document, ifMatch: ifMatch, begun: server.now, reservation: number))
    note("holds a PUT of \(request.body.count)")
  }

  /// Sends more of a body, all of it, or goes away.
  func continueHeld() throws {
    guard !held.isEmpty else { return try write() }
    let index = number(0...held.count - 1)
    switch number(1...10) {
    case ...4: try sendPart(index)
    case ...8: try finishHeld(held.remove(at: index))
    default: try hangUp(held.remove(at: index))
    }
  }

  private func sendPart(_ index: Int) throws {
    let (sent, body) = (held[index].sentCount, held[index].request.body)
    guard sent < body.count else { return }
    let end = number(sent + 1...body.count)
    let mishap = mishaps.during(10) { held[index].exchange.send(body[sent..<end]) }
    held[index].sentCount = end
    noteArrival(of: held[index])
    if mishap == .cut { return try crash() }
    guard let answer = held[index].exchange.answer else { return }
    let request = held.remove(at: index)
    note("a body was refused: \(answer.status)")
    try server.settle(people.map(\.account))
    if request.upload != nil { return try endAppend(request, try Answer(answer), mishap) }
    let reservation = model.reservations.removeValue(forKey: request.reservation)
    // The sweep may have taken the bytes of a request that lasted too long.
    let isExpired = reservation.map { $0.expires <= server.now } ?? true
    guard answer.status == 503, mishap != nil || isExpired else {
      throw UnexpectedAnswer(try Answer(answer))
    }
  }

  func finishHeld(_ request: HeldRequest) throws {
    // The signature of a request that took longer is not accepted again.
    let isRepeatable = server.now < request.begun + .minutes(4)
    var answer: Answer?
    let mishap = try mishaps.during(isRepeatable || request.upload != nil ? 30 : 0) {
      request.exchange.send(request.request.body[request.sentCount...])
      answer = try Answer(try request.exchange.finish())
    }
    var sent = request
    sent.sentCount = request.request.body.count
    noteArrival(of: sent)
    note("a body ends: \(answer?.status ?? 0) after \(mishap?.rawValue ?? "nothing")")
    let reservation = model.reservations[request.reservation]
    if request.upload == nil { model.reservations[request.reservation] = nil }
    if mishap == .cut { try crash() }
    try server.settle(people.map(\.account))
    if request.upload != nil { return try endAppend(request, answer, mishap) }
    if mishap == .cut || mishap != nil && answer?.status == 503 {
      let refusal = try reservationVerdict(
        request.document, request.account, ifMatch: request.ifMatch,
        byteCount: request.request.body.count)
      let second = try request.device.send(request.request)
      // What was committed before the cut needs no room again.
      let wasCommitted = mishap == .cut && second.status == 200
      return try finishWrite(
        second, wasCommitted ? nil : refusal, request.document, request.account, request.ifMatch,
        request.request.body)
    }
    guard let answer else { throw Mismatch("no answer to a write of \(request.document)") }
    let isExpired = reservation.map { $0.expires <= server.now } ?? true
    // The sweep may have taken the bytes.
    if isExpired, answer.status == 503 { return }
    try finishWrite(
      answer, isExpired ? 409 : nil, request.document, request.account, request.ifMatch,
      request.request.body)
  }

  /// The client goes away. What has arrived of an append may count, so it asks.
  func hangUp(_ request: HeldRequest) throws {
    request.exchange.hangUp()
    note("goes away")
    try server.settle(people.map(\.account))
    guard let (url, _) = request.upload else {
      model.reservations[request.reservation] = nil
      return
    }
    if uploads.contains(where: { $0.url == url }) { try ask(url) }
  }

  func restoreVersion() throws {
    let found = model.order.filter { id in !(model.nodes[id]?.versions.isEmpty ?? true) }
    guard let id = found.randomElement(using: &random), var node = model.nodes[id],
      let kept = node.versions.randomElement(using: &random)
    else { return }
    let (person, ifMatch) = (anyone(id), version(of: id))
    let body = JSONValue.object([.init("version", .integer(kept.content.number))]).encoded()
    let request = person.device.sign(
      "POST", "/v1/files/\(id)/restore", body: body, headers: [("If-Match", "\"\(ifMatch)\"")])
    let before = node
    node.versions.removeAll { $0.content.number == kept.content.number }
    model.nodes[id] = node
    let verdict = model.judge(
      id, by: person.account, ifMatch: ifMatch, byteCount: kept.content.byteCount, at: server.now)
    var expected = 200
    if case .refused(let status) = verdict { expected = status }
    let answer = try send(request, person.device)
    try require(answer, expected, "restoring version \(kept.content.number) of \(id)")
    guard expected == 200, let number = try answer.json["version"].integer else {
      model.nodes[id] = before
      return
    }
    model.replace(
      id, with: kept.content.bytes, number: number, tag: kept.content.tag, verdict, at: server.now)
  }
}
