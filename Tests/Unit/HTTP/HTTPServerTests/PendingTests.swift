import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

/// A pending step that a test completes by hand.
final class Desk<Value: Sendable>: Sendable {
  private let waiting = Locked<[@Sendable (Result<Value, any Error>) -> Void]>([])

  var step: Step<Value> {
    .pending { completion in self.waiting.signal { $0.append(completion) } }
  }

  /// Completes the next step; false if there is none within 3 seconds.
  func complete(_ result: Result<Value, any Error>) -> Bool {
    guard let complete = next() else { return false }
    complete(result)
    return true
  }

  /// The next step's completion; nil if there is none in time.
  func next(
    within span: Instant.Span = .seconds(3)
  ) -> (@Sendable (Result<Value, any Error>) -> Void)? {
    waiting.wait(until: .now() + span) { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

private struct Broken: Error {}

private let post = "POST /work HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"

@Suite struct PendingTests {
  private static func answering(_ desk: Desk<Response>) -> Route {
    Route("POST", "/work") { _, _ in
      .ready(Admission(body: .memory(byteCountMax: 10)) { _ in desk.step })
    }
  }

  private static func admitting(_ desk: Desk<Admission>) -> Route {
    Route("POST", "/work") { _, _ in desk.step }
  }

  private static let echo = Admission(body: .memory(byteCountMax: 10)) { bytes in
    .ready(Response(status: 200, body: .bytes(bytes)))
  }

  @Test func `an answer may come later, from another thread`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk)])
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    let complete = try #require(desk.next())
    complete(.success(.text("later")))
    #expect(client.receiveResponse()?.text == "later")
  }

  @Test func `a worker serves others while requests are pending`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk), .hello])
    let pending = (0..<50).map { _ in RawClient(server) }
    for client in pending { client.send(post + "\r\nabc") }
    #expect(RawClient(server).exchange(getHello)?.status == 200)
    for _ in pending { #expect(desk.complete(.success(.text("later")))) }
    for client in pending { #expect(client.receiveResponse()?.text == "later") }
  }

  @Test func `a step that completes before it returns is as good as a ready one`() throws {
    let server = try startServer([
      Route("POST", "/work") { _, _ in
        .pending { completion in
          completion(
            .success(
              Admission(body: .memory(byteCountMax: 10)) { bytes in
                .pending { $0(.success(Response(status: 200, body: .bytes(bytes)))) }
              }))
        }
      }
    ])
    let client = RawClient(server)
    for _ in 0..<50 { #expect(client.exchange(post + "\r\nabc")?.text == "abc") }
  }

  @Test func `an admission may come later, and only then the body is asked for`() throws {
    let desk = Desk<Admission>()
    let server = try startServer([Self.admitting(desk)])
    let client = RawClient(server)
    client.send(post + "Expect: 100-continue\r\n\r\n")
    #expect(desk.complete(.success(Self.echo)))
    #expect(client.receiveResponse()?.status == 100)
    #expect(client.exchange("abc")?.text == "abc")
  }

  @Test func `a refusal that comes later comes instead of 100 Continue`() throws {
    let desk = Desk<Admission>()
    let server = try startServer([Self.admitting(desk)])
    let client = RawClient(server)
    client.send(post + "Expect: 100-continue\r\n\r\n")
    #expect(desk.complete(.failure(Problem(401, "unsigned", "Unsigned", "Sign it."))))
    #expect(client.receiveResponse()?.problem == "unsigned")
  }

  @Test func `a body that is there already waits for a pending admission`() throws {
    let desk = Desk<Admission>()
    let server = try startServer([Self.admitting(desk)])
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    #expect(desk.complete(.success(Self.echo)))
    #expect(client.receiveResponse()?.text == "abc")
  }

  @Test func `a second completion is ignored`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk), .hello])
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    let complete = try #require(desk.next())
    complete(.success(.text("first")))
    complete(.failure(Broken()))
    #expect(client.receiveResponse()?.text == "first")
    complete(.success(.text("third")))
    #expect(client.exchange(getHello)?.text == "hello")
  }

  @Test func `a failure that comes later is mapped like any other`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk)]) { error, _ in
      error is Broken ? Problem(502, "broken", "Broken", "It broke.") : nil
    }
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    #expect(desk.complete(.failure(Broken())))
    #expect(client.receiveResponse()?.problem == "broken")
  }

  @Test(arguments: [true, false])
  func `a client that hangs up while its answer is pending harms nobody`(_ resets: Bool) throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk), .hello])
    for _ in 0..<20 {
      let client = RawClient(server)
      client.send(post + "\r\nabc")
      let complete = try #require(desk.next())
      if resets { client.reset() } else { client.finishSending() }
      complete(.success(.text("too late")))
    }
    #expect(RawClient(server).exchange(getHello)?.status == 200)
  }

  @Test func `an admission for a client that hung up is abandoned once`() throws {
    let witness = Witness()
    let desk = Desk<Admission>()
    let server = try startServer([Self.admitting(desk)])
    let client = RawClient(server)
    client.send(post + "\r\n")
    let complete = try #require(desk.next())
    client.reset()
    complete(.success(witness.admission))
    #expect(witness.becomes { $0.abandoned == 1 })
    server.drain(within: .seconds(1))
    #expect(witness.seen.abandoned == 1)
    #expect(witness.seen.finished == 0)
  }

  @Test func `an answer that never comes is a 503 in time, and too late it is dropped`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk), .hello], limits: quickLimits)
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    let complete = try #require(desk.next())
    let response = client.receiveResponse()
    #expect(response?.problem == "timeout")
    #expect(response?.header("retry-after") == "5")
    complete(.success(.text("too late")))
    #expect(client.exchange(getHello)?.text == "hello")
  }

  @Test func `an admission that comes too late is abandoned`() throws {
    let witness = Witness()
    let desk = Desk<Admission>()
    let server = try startServer([Self.admitting(desk)], limits: quickLimits)
    let client = RawClient(server)
    client.send(post + "\r\nabc")
    let complete = try #require(desk.next())
    #expect(client.receiveResponse()?.problem == "timeout")
    complete(.success(witness.admission))
    #expect(witness.seen.abandoned == 1)
  }

  @Test func `completions race with suspension and none is lost`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.answering(desk)])
    let count = 300
    let completer = Thread {
      for _ in 0..<count { desk.next()?(.success(.text("done"))) }
    }
    let client = RawClient(server)
    for _ in 0..<count { #expect(client.exchange(post + "\r\nabc")?.text == "done") }
    completer.join()
  }
}

extension Witness {
  var admission: Admission {
    Admission(
      body: .memory(byteCountMax: 10),
      finish: { _ in
        self.finish()
        return .ready(.text("finished"))
      }, abandon: { self.abandon() })
  }
}
