import Base
import HTTPMessages
import HTTPServer
import LocalServer
import ProviderAPI
import Testing

@Suite struct CurlTransportTests {
  private static func route(_ answer: @escaping @Sendable (RequestHead) -> Response) -> Route {
    Route("GET", "/{n}") { head, _ in
      .ready(Admission(body: .none) { _ in .ready(answer(head)) })
    }
  }

  private static func server(
    _ name: String = "provider", _ answer: @escaping @Sendable (RequestHead) -> Response
  ) throws -> HTTPServer {
    try startServer([route(answer)], name: name)
  }

  private static func get(
    _ transport: CurlTransport, _ server: HTTPServer, _ path: String = "/x"
  ) throws(APIFailure) -> APIReply {
    try transport.send(APIRequest("GET", "http://127.0.0.1:\(server.port)\(path)"))
  }

  @Test func `a hundred requests take one connection`() throws {
    let server = try Self.server { _ in .empty(200) }
    let before = try connections(to: server.port)
    let transport = CurlTransport()
    for _ in 0..<100 { #expect(try Self.get(transport, server).status == 200) }
    #expect(try connections(to: server.port).subtracting(before).count == 1)
  }

  @Test func `as many threads take no more connections than they are`() throws {
    let server = try Self.server { _ in .empty(200) }
    let before = try connections(to: server.port)
    let transport = CurlTransport()
    let threads = (0..<4).map { _ in
      Thread { for _ in 0..<25 { _ = try? Self.get(transport, server) } }
    }
    for thread in threads { thread.join() }
    #expect(try (1...4).contains(connections(to: server.port).subtracting(before).count))
  }

  @Test func `the reply comes with the provider's date`() throws {
    let server = try Self.server { _ in
      Response(
        status: 200, headers: [("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("X-A", "b")],
        body: .bytes([1, 2]))
    }
    let reply = try Self.get(CurlTransport(), server)
    #expect(reply.date == Instant(seconds: 784_111_777))
    #expect(reply.body == [1, 2])
    #expect(reply.headers.text("x-a") == "b")
    #expect(reply.elapsed > .milliseconds(0))
  }

  @Test func `a request made for a trace carries it on, any other carries none`() throws {
    let seen = Locked<[TraceContext?]>([])
    let server = try Self.server { head in
      seen.withLock { $0.append(head.trace) }
      return .empty(200)
    }
    let transport = CurlTransport()
    let trace = TraceContext.begin()
    try TraceContext.$current.withValue(trace) { _ = try Self.get(transport, server) }
    _ = try Self.get(transport, server)
    #expect(seen.withLock { $0 } == [trace, nil])
  }

  @Test(arguments: [400, 401, 404, 409, 410])
  func `a status that concerns the request is a reply`(_ status: Int) throws {
    let server = try Self.server { _ in .empty(status) }
    #expect(try Self.get(CurlTransport(), server).status == status)
  }

  @Test(arguments: [408, 429, 500, 503])
  func `a status that concerns the provider is a transient failure`(_ status: Int) throws {
    let server = try Self.server { _ in
      Response(status: status, headers: [("Retry-After", "7")], body: .bytes([]))
    }
    #expect(
      throws: APIFailure.transient("the provider answers \(status)", retryAfter: .seconds(7))
    ) { try Self.get(CurlTransport(), server) }
  }

  @Test func `no answer in time is a transient failure`() throws {
    let held = Locked<(@Sendable (Result<Admission, any Error>) -> Void)?>(nil)
    let route = Route("GET", "/{n}") { _, _ in
      .pending { complete in held.withLock { $0 = complete } }
    }
    let server = try startServer([route], name: "provider")
    #expect(throws: APIFailure.transient("no reply in time", retryAfter: nil)) {
      try Self.get(CurlTransport(deadline: .milliseconds(100)), server)
    }
    held.withLock { $0 }?(.failure(APIFailure.gone))
  }

  @Test func `nobody there is a transient failure that names no address`() throws {
    let server = try Self.server { _ in .empty(200) }
    let port = server.port
    server.drain(within: .seconds(0))
    do throws(APIFailure) {
      _ = try CurlTransport().send(
        APIRequest(
          "GET", "http://127.0.0.1:\(port)/secret?token=t0k3n", headers: [("Authorization", "x")]))
      Issue.record("somebody answered")
    } catch {
      guard case .transient(let text, nil) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(!text.contains("t0k3n") && !text.contains("127") && !text.contains("secret"))
    }
  }

  @Test func `a body beyond the limit is malformed`() throws {
    let server = try Self.server { head in
      let count = CurlTransport.bodyByteCountMax + (head.target == "/over" ? 1 : 0)
      return Response(status: 200, body: .bytes([UInt8](repeating: 1, count: count)))
    }
    let transport = CurlTransport()
    #expect(try Self.get(transport, server, "/at").body.count == CurlTransport.bodyByteCountMax)
    #expect(throws: APIFailure.malformed("the reply is larger than accepted")) {
      try Self.get(transport, server, "/over")
    }
  }

  @Test func `a header with a line break is our mistake`() throws {
    let request = APIRequest("GET", "http://127.0.0.1:1/", headers: [("A", "b\r\nC: d")])
    do throws(APIFailure) {
      _ = try CurlTransport().send(request)
      Issue.record("it was sent")
    } catch {
      guard case .misconfigured = error else {
        Issue.record("\(error)")
        return
      }
    }
  }

  @Test func `a request does not tell its secrets`() {
    let request = APIRequest(
      "GET", "https://a.example/t0k3n", headers: [("Authorization", "t0k3n")], body: [1])
    var dumped = ""
    dump(request, to: &dumped)
    #expect(!"\(request) \(String(reflecting: request)) \(dumped)".contains("t0k3n"))
  }

  @Test(arguments: [
    (200, nil), (299, nil), (404, APIFailure.notFound), (410, .gone),
    (401, .misconfigured("the provider answers 401")),
    (403, .misconfigured("the provider answers 403")),
    (400, .refused(status: 400, "the provider answers 400")),
    (302, .refused(status: 302, "the provider answers 302")),
    (503, .transient("the provider answers 503", retryAfter: nil)),
  ])
  func `a status means what it says`(_ status: Int, _ failure: APIFailure?) {
    let reply = APIReply(status: status, headers: Headers(), body: [], elapsed: .seconds(0))
    do throws(APIFailure) {
      _ = try reply.successful()
      #expect(failure == nil)
    } catch {
      #expect(error == failure)
    }
  }
}
