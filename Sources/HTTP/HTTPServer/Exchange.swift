import Base
import Glibc
import HTTPMessages

/// One request and its response, as a state machine that libmicrohttpd's callbacks drive.
///
/// Everything here runs on the connection's worker. Only the `Waiting` of a pending step is shared with other threads.
final class Exchange {
  private enum Phase {
    /// The header section is not complete, or not yet checked.
    case head
    case admitting(Waiting<Admission>)
    /// The body is arriving, if there is one.
    case receiving(Admission)
    /// Refused: the response waits until the body has been read.
    case discarding(Problem)
    case finishing(Waiting<Response>)
    /// Refused for too many requests; the response is delayed.
    case pausing(Pause, Problem, closes: Bool)
    case answered
  }

  let intake: Intake
  private let core: ServerCore
  private let peer: Peer
  private let target: RawTarget
  private let requestID: String
  private var phase = Phase.head
  private var head: RequestHead?
  private var section: HeaderSection?
  private var problemCode: String?
  private var body: [UInt8] = []
  private var headByteCount: Int64 = 0
  private var bodyByteCount: Int64 = 0
  /// Whether the response leaves bytes of the request unread.
  private var lingers = false
  /// The bytes counted as held for the client until the end: the body, later the response too.
  private var heldByteCount = 0
  private var bodyStart = MonotonicTime.now()
  /// Set while the sink of the body has no room.
  private var pause: BodyPause?

  init(intake: Intake, peer: Peer, target: RawTarget) {
    self.intake = intake
    core = intake.core
    self.peer = peer
    self.target = target
    requestID = core.requestIDs.next()
    core.metrics.inFlight.add(1)
    peer.begin(until: .now() + core.limits.headSpan)
  }

  /// One call of the access handler; false closes the connection.
  ///
  /// It comes when the head is complete, for each part of the body, and at the end; after a suspension again.
  func proceed(_ connection: Connection, part: RawSpan, _ raw: @autoclosure () -> RawHead) -> Bool {
    switch phase {
    case .head:
      peer.completeHead()
      do {
        let (method, section) = try raw().read(connection, target, core.limits)
        return begin(connection, method, section)
      } catch {
        return answer(connection, refusal(error), closes: true)
      }
    case .admitting(let waiting):
      guard let outcome = waiting.outcome(orSuspend: connection) else { return true }
      return admit(connection, outcome)
    case .receiving(let admission):
      return part.isEmpty
        ? finish(connection, admission) : receive(connection, part, admission)
    case .discarding(let problem):
      bodyByteCount += Int64(part.byteCount)
      return part.isEmpty ? answer(connection, problem) : true
    case .finishing(let waiting):
      guard let outcome = waiting.outcome(orSuspend: connection) else { return true }
      return answer(connection, outcome)
    case .pausing(let pause, let problem, let closes):
      guard pause.isOver(orSuspend: connection) else { return true }
      return answer(connection, refusal(problem), closes: closes)
    case .answered: return true
    }
  }

  /// Called when the connection is done with this request, or gone.
  func end() {
    var wasAnswered = false
    switch phase {
    case .receiving(let admission): admission.abandon?()
    case .admitting(let waiting): waiting.expire(Peers.isStopping)
    case .finishing(let waiting): waiting.expire(Peers.isStopping)
    case .pausing(let pause, _, _): pause.expire(Peers.isStopping)
    case .head, .discarding: break
    case .answered: wasAnswered = true
    }
    if !wasAnswered {
      core.metrics.abortedBeforeAnswer(received: headByteCount + bodyByteCount)
    }
    phase = .answered
    core.metrics.inFlight.add(-1)
    release()
    if lingers { core.peers.linger(after: peer, until: .now() + core.limits.discardSpan) }
    peer.rest(until: .now() + core.limits.idleSpan)
  }

  // MARK: The head

  private func begin(_ connection: Connection, _ method: String, _ section: HeaderSection) -> Bool {
    headByteCount = Int64(connection.headByteCount)
    let client = core.proxies.client(of: peer.address, section.headers)
    let head = RequestHead(
      method: method, target: target.text, headers: section.headers, authority: section.authority,
      scheme: client.scheme, remoteAddress: client.address, requestID: requestID)
    self.head = head
    self.section = section
    core.pages.mark(head)
    do {
      if section.hasUnknownExpectation { throw Self.expectationFailed }
      if section.isChunked { throw Self.lengthRequired }
      if let permission = try core.pages.permission(for: head) {
        return admit(connection, .success(Admission(body: .none) { _ in .ready(permission) }))
      }
      switch core.router.match(method, head.path) {
      case .route(let route, let captures):
        switch try route.admit(head, captures) {
        case .ready(let admission): return admit(connection, .success(admission))
        case .pending(let start):
          let waiting = Waiting<Admission> { $0.abandon?() }
          phase = .admitting(waiting)
          guard wait(for: waiting, start) else { return refuse(connection, Peers.isStopping) }
          guard let outcome = waiting.outcome(orSuspend: connection) else { return true }
          return admit(connection, outcome)
        }
      case .otherMethods(let methods): throw Self.methodNotAllowed(methods)
      case .unknown: throw Problem.notFound
      }
    } catch {
      return refuse(connection, core.problem(for: error, head))
    }
  }

  private func admit(_ connection: Connection, _ outcome: Result<Admission, any Error>) -> Bool {
    guard let head, let section else { return false }
    switch outcome {
    case .failure(let error): return refuse(connection, core.problem(for: error, head))
    case .success(let admission):
      let byteCountMax: Int64
      switch admission.body {
      case .none: byteCountMax = 0
      case .memory(let count): byteCountMax = Int64(count)
      case .stream(let count, _): byteCountMax = count
      }
      let length = section.contentLength
      var refusal: Problem?
      if length == nil, case .none = admission.body {
      } else if length == nil {
        refusal = Self.lengthRequired
      } else if let length, length > byteCountMax {
        refusal = Self.tooLarge(length, max: byteCountMax)
      }
      if let refusal {
        admission.abandon?()
        return refuse(connection, refusal)
      }
      if let length, length > 0 {
        // Memory that is never written to takes up no RAM.
        if case .memory = admission.body { body.reserveCapacity(Int(length)) }
        bodyStart = .now()
        peer.receive(until: bodyStart + core.limits.bodySpan)
      }
      phase = .receiving(admission)
      return true
    }
  }

  private func refuse(_ connection: Connection, _ problem: Problem) -> Bool {
    guard let section else { return false }
    let length = section.contentLength ?? 0
    let hasBody = length > 0 || section.isChunked
    // A client that sent an expectation may wait for a response before it sends any of the body.
    let isWaiting = section.waitsForContinue || section.hasUnknownExpectation
    if !hasBody || (isDiscardable && !isWaiting) {
      phase = .discarding(problem)
      if hasBody { peer.receive(until: .now() + core.limits.discardSpan) }
      return true
    }
    return answer(connection, problem, closes: true)
  }

  /// Whether the rest of the body is short enough to be read and discarded.
  private var isDiscardable: Bool {
    guard let section, !section.isChunked else { return false }
    return (section.contentLength ?? 0) - bodyByteCount <= core.limits.discardByteCountMax
  }

  // MARK: The body

  private func receive(_ connection: Connection, _ part: RawSpan, _ admission: Admission) -> Bool {
    bodyByteCount += Int64(part.byteCount)
    do {
      // The client is not charged with the time of a pause.
      if let pause, let outcome = pause.outcome(orSuspend: connection) { try end(pause, outcome) }
      awaitBody()
      guard case .stream(_, let sink) = admission.body else {
        guard hold(part.byteCount) else { throw Self.tooMuchHeld }
        unsafe part.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
        return true
      }
      try sink.write(part)
      try waitForRoom(connection, sink)
      return true
    } catch {
      body = []
      release()
      admission.abandon?()
      guard let head else { return false }
      let problem = core.problem(for: error, head)
      if isDiscardable {
        phase = .discarding(problem)
        peer.receive(until: .now() + core.limits.discardSpan)
        return true
      }
      let response = completed(refusal(problem))
      record(response)
      lingers = true
      peer.sendLast(response.rawBytes(requestID: requestID))
      return false
    }
  }

  /// Suspends the connection while the sink has no room, so that no more is read from the client.
  private func waitForRoom(_ connection: Connection, _ sink: any BodySink) throws {
    let pause = BodyPause(peer, span: core.limits.bodySpan)
    guard sink.pause({ pause.end() }) else { return }
    guard peer.wait(for: pause, until: .now() + core.limits.answerSpan) else {
      throw Peers.isStopping
    }
    self.pause = pause
    // There may be room by now.
    if let outcome = pause.outcome(orSuspend: connection) { try end(pause, outcome) }
  }

  private func end(_ pause: BodyPause, _ outcome: Result<Void, any Error>) throws {
    self.pause = nil
    let span = Int64(MonotonicTime.now().seconds(since: pause.since) * 1000)
    bodyStart = bodyStart + .milliseconds(span)
    awaitBody()
    try outcome.get()
  }

  /// A stalled body is ended long before its whole length would be due.
  private func awaitBody() {
    peer.receive(until: bodyStart + core.limits.bodySpan + core.limits.pace(bodyByteCount))
  }

  private var client: String { ClientNetwork.of(head?.remoteAddress ?? peer.address) }

  private func release() {
    guard heldByteCount > 0 else { return }
    core.held.giveBack(heldByteCount, of: client)
    heldByteCount = 0
  }

  /// Counts bytes as held until the end of the exchange; false if there are too many.
  private func hold(_ count: Int) -> Bool {
    guard core.held.take(count, for: client) else { return false }
    heldByteCount += count
    return true
  }

  /// Counts the bytes of larger blocks, if the client took the last one quickly and half of the memory stays for others.
  private func growBlocks(by count: Int, since begun: MonotonicTime) -> Bool {
    guard begun + core.limits.quickBlockSpan > .now(),
      core.held.take(count, for: client, leavesHalf: true)
    else { return false }
    heldByteCount += count
    return true
  }

  private func finish(_ connection: Connection, _ admission: Admission) -> Bool {
    let bytes = body
    body = []
    do {
      phase = .answered
      switch try admission.finish(bytes) {
      case .ready(let response): return answer(connection, .success(response))
      case .pending(let start):
        let waiting = Waiting<Response> { _ in }
        phase = .finishing(waiting)
        guard wait(for: waiting, start) else {
          return answer(connection, .failure(Peers.isStopping))
        }
        guard let outcome = waiting.outcome(orSuspend: connection) else { return true }
        return answer(connection, outcome)
      }
    } catch {
      return answer(connection, .failure(error))
    }
  }

  /// Starts a pending step; false if the server is stopping.
  private func wait<Value>(
    for waiting: Waiting<Value>,
    _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
  ) -> Bool {
    guard peer.wait(for: waiting, until: .now() + core.limits.answerSpan) else { return false }
    start { result in waiting.complete(result) }
    return true
  }

  // MARK: The answer

  private func answer(_ connection: Connection, _ outcome: Result<Response, any Error>) -> Bool {
    switch outcome {
    case .success(let response):
      // A short response is sent however much is held, because the request may have taken effect.
      if case .bytes(let bytes) = response.body, bytes.count > Self.shortByteCountMax,
        !hold(bytes.count)
      {
        return answer(connection, Self.tooMuchHeld)
      }
      if case .blocks(_, let range) = response.body,
        !hold(BlockReader.heldByteCount(of: range))
      {
        return answer(connection, Self.tooMuchHeld)
      }
      return answer(connection, response)
    case .failure(let error):
      guard let head else { return false }
      return answer(connection, core.problem(for: error, head))
    }
  }

  /// Delays a 429, which slows down a client that repeats requests without a pause, and no other.
  private func answer(_ connection: Connection, _ problem: Problem, closes: Bool = false) -> Bool {
    let limits = core.limits
    if problem.status == 429,
      let pause = Pause(core.pauses, countMax: limits.pauseCountMax),
      peer.wait(for: pause, until: .now() + limits.pauseSpan)
    {
      phase = .pausing(pause, problem, closes: closes)
      if !pause.isOver(orSuspend: connection) { return true }
    }
    return answer(connection, refusal(problem), closes: closes)
  }

  private func answer(
    _ connection: Connection, _ response: Response, closes: Bool = false
  ) -> Bool {
    if case .inherited(let heir) = response.body { return handOver(response, to: heir) }
    lingers = closes
    let isLast = record(response)
    return connection.answer(
      completed(response), to: peer, requestID: requestID, closes: closes || isLast
    ) { [weak self] byteCount, since in
      self?.growBlocks(by: byteCount, since: since) ?? false
    }
  }

  /// Sends the head and leaves the socket to its heir. False, so that libmicrohttpd forgets the connection; it closes
  /// only its own descriptor (`coffer_mhd_start`).
  private func handOver(_ response: Response, to heir: any ConnectionHeir) -> Bool {
    guard let descriptor = peer.handOver() else { return false }
    let head = completed(response).rawHead(requestID: requestID)
    record(response)
    guard peer.sendAll(head) else {
      close(descriptor)
      return false
    }
    heir.take(descriptor)
    return false
  }

  private func refusal(_ problem: Problem) -> Response {
    problemCode = problem.code
    return problem.response(requestID: requestID)
  }

  /// Adds the fields that the request's handlers set for any response.
  private func completed(_ response: Response) -> Response {
    guard let fields = head?.answerFields.all, !fields.isEmpty else { return response }
    var response = response
    response.headers += fields
    return response
  }

  /// Counts and logs the response; true if it must be the connection's last.
  @discardableResult
  private func record(_ response: Response) -> Bool {
    phase = .answered
    let byteCount = head?.method == "HEAD" ? 0 : response.body.byteCount
    let isLast = peer.send(until: .now() + core.limits.sendSpan + core.limits.pace(byteCount))
    let seconds = head.map { MonotonicTime.now().seconds(since: $0.received) } ?? 0
    core.metrics.answered(
      response.status, received: headByteCount + bodyByteCount, sent: byteCount, seconds: seconds)
    log(response.status, seconds)
    return isLast
  }

  private func log(_ status: Int, _ seconds: Double) {
    let client = head?.remoteAddress ?? peer.address
    let trace = head?.trace
    let isWanted = status >= 400 || trace?.isSampled == true
    guard core.limits.logsEveryRequest || isWanted && core.problems.take(client) else { return }
    // The query is left out, because it may hold data that must not be logged.
    Log.info(
      "http.request",
      [
        "request": requestID, "status": "\(status)", "method": head?.method ?? "-",
        "path": head.map { core.router.shown($0.path) } ?? "-", "problem": problemCode ?? "-",
        "ms": "\(Int(seconds * 1000))", "trace": trace?.id ?? "-",
      ])
  }

  // MARK: Refusals

  private static let shortByteCountMax = 64 * 1024

  private static let tooMuchHeld = Problem(
    503, "too_much_held", "Too much at once",
    "The server's memory for this client, or for all clients, is full. Send fewer requests at once.",
    retryAfterSeconds: 1)

  private static let expectationFailed = Problem(
    417, "expectation_failed", "Expectation failed",
    "The only supported expectation is 100-continue.")

  private static let lengthRequired = Problem(
    411, "length_required", "Length required",
    "Declare the length of the body in a Content-Length field: 0 if there is none.")

  private static func tooLarge(_ length: Int64, max: Int64) -> Problem {
    Problem(
      413, "content_too_large", "Content too large",
      "The body of \(length) bytes is larger than the \(max) bytes accepted here.")
  }

  private static func methodNotAllowed(_ methods: [String]) -> Problem {
    let allowed = Set(methods).union(methods.contains("GET") ? ["HEAD"] : []).sorted()
    return Problem(
      405, "method_not_allowed", "Method not allowed", "The path does not support this method.",
      headers: [.init("Allow", allowed.joined(separator: ", "))])
  }
}
