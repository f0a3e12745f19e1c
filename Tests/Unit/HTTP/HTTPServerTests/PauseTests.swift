import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

/// Delayed answers to clients that send too many requests.
@Suite struct PauseTests {
  private static let tooMany = Problem(
    429, "too_many", "Too many", "Come back later.", retryAfterSeconds: 1)

  private static func limits(count: Int = 100) -> ServerLimits {
    var limits = quickLimits
    limits.pauseSpan = .milliseconds(300)
    limits.pauseCountMax = count
    return limits
  }

  private static func refusing(_ method: String) -> Route {
    Route(method, "/refused") { _, _ in throw tooMany }
  }

  private static func seconds(_ body: () -> Void) -> Double {
    let start = MonotonicTime.now()
    body()
    return MonotonicTime.now().seconds(since: start)
  }

  @Test(arguments: [
    "GET /refused HTTP/1.1\r\nHost: a\r\n\r\n",
    "PUT /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    "PUT /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    "PUT /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\nabc",
  ])
  func `who is told to come back later is told so after a pause`(request: String) throws {
    let server = try startServer(
      [Self.refusing("GET"), Self.refusing("PUT")], limits: Self.limits())
    let client = RawClient(server)
    var response: RawResponse?
    let seconds = Self.seconds { response = client.exchange(request) }
    #expect(response?.status == 429)
    #expect(response?.header("retry-after") == "1")
    #expect(seconds >= 0.3)
  }

  @Test func `what a handler refuses after the body came is held back, too`() throws {
    let server = try startServer(
      [.plain("POST", "/late", body: .memory(byteCountMax: 10)) { _, _ in throw Self.tooMany }],
      limits: Self.limits())
    let client = RawClient(server)
    let request = "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
    for _ in 0..<2 {
      var response: RawResponse?
      let seconds = Self.seconds { response = client.exchange(request) }
      #expect(response?.status == 429)
      #expect(seconds >= 0.3)
    }
  }

  @Test func `nothing else waits meanwhile, and no other refusal pauses`() throws {
    let server = try startServer([.hello, Self.refusing("GET")], limits: Self.limits())
    let waiting = (0..<20).map { _ in RawClient(server) }
    for client in waiting { client.send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n") }
    let other = RawClient(server)
    #expect(other.exchange(getHello)?.status == 200)
    #expect(other.exchange("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 404)
    #expect(waiting.allSatisfy { !$0.hasAnswer })
    #expect(waiting.allSatisfy { $0.receiveResponse()?.status == 429 })
  }

  @Test func `beyond so many pauses refusals are answered at once`() throws {
    let server = try startServer([Self.refusing("GET")], limits: Self.limits(count: 2))
    let first = (0..<2).map { _ in RawClient(server) }
    for client in first { client.send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n") }
    pause(milliseconds: 50)
    let third = RawClient(server)
    #expect(third.exchange("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 429)
    #expect(first.allSatisfy { !$0.hasAnswer })
    #expect(first.allSatisfy { $0.receiveResponse()?.status == 429 })
    let again = RawClient(server)
    again.send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")
    pause(milliseconds: 50)
    #expect(!again.hasAnswer)
  }

  @Test func `clients that go away while they wait leave no pause behind`() throws {
    let server = try startServer([.hello, Self.refusing("GET")], limits: Self.limits(count: 2))
    for _ in 0..<4 {
      for _ in 0..<2 {
        RawClient(server).send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")
      }
      pause(milliseconds: 700)
    }
    let client = RawClient(server)
    client.send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")
    pause(milliseconds: 50)
    #expect(!client.hasAnswer)
  }

  @Test func `a server that stops lets nobody wait`() throws {
    let server = try startServer([Self.refusing("GET")], limits: Self.limits())
    let client = RawClient(server)
    client.send("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")
    pause(milliseconds: 50)
    #expect(Self.seconds { server.drain(within: .seconds(5)) } < 2)
    #expect(client.receiveResponse()?.status == 429)
  }
}
