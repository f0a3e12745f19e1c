import Base
import HTTPMessages
import HTTPServer
import LocalServer
import RawClient
import Testing

/// A sink that has no room after every 50,000 bytes until `proceed` is called.
private final class NarrowSink: BodySink {
  struct State {
    var bytes: [UInt8] = []
    var room = 50_000
    var proceed: (@Sendable () -> Void)?
    var pauseCount = 0
    var wasPressed = false
    var wasAbandoned = false
  }

  let state = Locked(State())

  func write(_ bytes: RawSpan) {
    state.withLock { state in
      unsafe bytes.withUnsafeBytes { unsafe state.bytes.append(contentsOf: $0) }
      state.room -= bytes.byteCount
      if state.proceed != nil { state.wasPressed = true }
    }
  }

  func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool {
    state.signal { state in
      guard state.room <= 0 else { return false }
      state.proceed = proceed
      state.pauseCount += 1
      return true
    }
  }

  /// Waits for the next pause and ends it; false if none comes.
  func makeRoom() -> Bool {
    let proceed = state.wait(until: .now() + .seconds(10)) { state -> (@Sendable () -> Void)? in
      guard let proceed = state.proceed.take() else { return nil }
      state.room = 50_000
      return proceed
    }
    proceed?()
    return proceed != nil
  }

  /// Gives room for all that is to come.
  func widen() {
    let proceed = state.withLock { state in
      state.room = .max
      return state.proceed.take()
    }
    proceed?()
  }

  /// Waits until the request has ended early; false if it does not.
  func becomesAbandoned() -> Bool {
    state.wait(until: .now() + .seconds(20)) { state in
      defer { state.wasAbandoned = false }
      return state.wasAbandoned ? true : nil
    } ?? false
  }

  var route: Route {
    Route("PUT", "/content") { [self] _, _ in
      .ready(
        Admission(
          body: .stream(byteCountMax: 100_000_000, self),
          finish: { [self] _ in
            .ready(.text("\(state.withLock { $0.bytes.count })"))
          }, abandon: { [self] in state.signal { $0.wasAbandoned = true } }))
    }
  }
}

/// Bodies whose sink has no room.
@Suite struct BodyPauseTests {
  private static let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  private func send(to server: HTTPServer) -> RawClient {
    let client = RawClient(server)
    client.send("PUT /content HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.body.count)\r\n\r\n")
    return client
  }

  @Test func `nothing is read while a sink has no room, and the body comes whole`() throws {
    let sink = NarrowSink()
    let server = try startServer([sink.route])
    let client = send(to: server)
    let sender = Thread { client.send(Self.body) }
    for _ in 0..<8 { #expect(sink.makeRoom()) }
    sink.widen()
    sender.join()
    #expect(client.receiveResponse()?.status == 200)
    sink.state.withLock { state in
      let isWhole = state.bytes == Self.body
      #expect(isWhole)
      #expect(!state.wasPressed)
      #expect(state.pauseCount >= 8)
    }
  }

  @Test func `a sink that stays without room ends the request`() throws {
    let sink = NarrowSink()
    var limits = ServerLimits()
    limits.answerSpan = .milliseconds(300)
    let server = try startServer([sink.route], limits: limits)
    let client = send(to: server)
    let sender = Thread { client.send(Self.body) }
    #expect(sink.becomesAbandoned())
    sender.join()
    #expect(client.receiveResponse()?.status == 503)
  }

  @Test func `a client that is silent after a pause is not waited for`() throws {
    let sink = NarrowSink()
    var limits = ServerLimits()
    limits.answerSpan = .milliseconds(300)
    limits.bodySpan = .milliseconds(300)
    let server = try startServer([sink.route], limits: limits)
    for isRoom in [true, false] {
      let client = send(to: server)
      client.send(Array(Self.body.prefix(60_000)))
      if isRoom { #expect(sink.makeRoom()) }
      #expect(sink.becomesAbandoned())
    }
  }
}
