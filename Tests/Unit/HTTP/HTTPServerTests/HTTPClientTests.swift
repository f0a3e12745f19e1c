import Base
import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import Testing

@Suite struct HTTPClientTests {
  private static func url(_ server: HTTPServer, _ path: String) -> String {
    "http://127.0.0.1:\(server.port)\(path)"
  }

  @Test func `a request goes and its reply comes`() throws {
    let server = try startServer([
      .plain("POST", "/x", body: .memory(byteCountMax: 100)) { head, bytes in
        let type = head.headers.text("content-type") ?? "none"
        let text = "\(head.method) \(head.target) \(head.headers.text("x-a") ?? "") \(type) "
        return Response(
          status: 201, headers: [("X-B", "c")], body: .bytes(Array(text.utf8) + bytes))
      }
    ])
    let reply = try HTTPClient().send(
      "POST", Self.url(server, "/x?y=%20z"), headers: [("X-A", "b")], body: [1, 0, 2],
      timeout: .seconds(2))
    #expect(reply.status == 201)
    #expect(reply.headers.text("x-b") == "c")
    #expect(reply.body == Array("POST /x?y=%20z b none ".utf8) + [1, 0, 2])
  }

  @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
  func `every method goes as it is called`(_ method: String) throws {
    let server = try startServer([
      Route(method == "HEAD" ? "GET" : method, "/x") { head, _ in
        .ready(
          Admission(body: .memory(byteCountMax: 9)) { _ in
            .ready(Response(status: head.method == method ? 200 : 500, body: .bytes([])))
          })
      }
    ])
    let reply = try HTTPClient().send(
      method, Self.url(server, "/x"), headers: method == "PUT" ? [] : [("Content-Length", "0")],
      body: method == "PUT" ? [] : nil, timeout: .seconds(2))
    #expect(reply.status == 200)
  }

  @Test func `a connection serves the next request as well`() throws {
    let client = HTTPClient()
    var limits = quickLimits
    limits.connectionCountMax = 1
    let server = try startServer([.hello], limits: limits)
    for _ in 0..<20 {
      let reply = try client.send("GET", Self.url(server, "/hello"), timeout: .seconds(2))
      #expect(reply.status == 200)
    }
  }

  /// As with a proxy that restarts between a request and its answer.
  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"])
  func `what changes something is sent once, also where no answer comes`(
    _ method: String
  ) throws {
    let server = CuttingServer()
    let client = HTTPClient()
    let url = "http://127.0.0.1:\(server.port)/x"
    for _ in 0..<2 {
      #expect(try client.send("GET", url, timeout: .seconds(5)).status == 200)
    }
    #expect(throws: HTTPClientError.self) {
      try client.send(method, url, body: method == "DELETE" ? nil : [1], timeout: .seconds(5))
    }
    #expect(server.methods == ["GET", "GET", method])
  }

  @Test func `several threads send side by side`() throws {
    let server = try startServer([.hello])
    let client = HTTPClient()
    let url = Self.url(server, "/hello")
    let count = Locked(0)
    let threads = (0..<8).map { _ in
      Thread {
        for _ in 0..<20 {
          let reply = try? client.send("GET", url, timeout: .seconds(3))
          if reply?.status == 200 { count.withLock { $0 += 1 } }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(count.withLock { $0 } == 160)
  }

  @Test func `a redirect is a reply, not followed`() throws {
    let server = try startServer([
      .plain("GET", "/from") { _, _ in
        Response(status: 302, headers: [("Location", "/hello")], body: .bytes([]))
      }, .hello,
    ])
    let reply = try HTTPClient().send("GET", Self.url(server, "/from"), timeout: .seconds(2))
    #expect(reply.status == 302)
  }

  @Test func `a body beyond the limit is refused, one at the limit is not`() throws {
    let server = try startServer([
      .plain("GET", "/b/{n}") { head, _ in
        Response(
          status: 200,
          body: .bytes([UInt8](repeating: 1, count: Int(head.path.dropFirst(3)) ?? 0)))
      }
    ])
    let client = HTTPClient(bodyByteCountMax: 1000)
    #expect(try client.send("GET", Self.url(server, "/b/1000"), timeout: .seconds(2)).status == 200)
    #expect(throws: HTTPClientError.tooLarge) {
      try client.send("GET", Self.url(server, "/b/1001"), timeout: .seconds(2))
    }
  }

  @Test func `events are handed over until enough have come, and another answer is a reply`()
    throws
  {
    let events = Array("data: 1\n\ndata: 2\n\n".utf8)
    let server = try startServer([
      .plain("GET", "/events") { _, _ in
        Response(
          status: 200, headers: [("Content-Type", "text/event-stream")], body: .bytes(events))
      }, .hello,
    ])
    let client = HTTPClient()
    var taken: [UInt8] = []
    func follow(_ path: String, isEnough: Bool = false) throws -> HTTPClient.Reply {
      try client.follow(Self.url(server, path), headers: [], timeout: .seconds(2)) { part in
        taken += part
        return !isEnough
      }
    }
    let reply = try follow("/events")
    #expect(reply.status == 200)
    #expect(reply.body.isEmpty)
    #expect(taken == events)
    #expect(try follow("/events", isEnough: true).status == 200)
    #expect(try !follow("/hello").body.isEmpty)
  }

  @Test func `a server that does not answer costs the timeout and no more`() throws {
    let desk = Desk<Response>()
    let server = try startServer([
      Route("GET", "/x") { _, _ in .ready(Admission(body: .none) { _ in desk.step }) }
    ])
    let start = MonotonicTime.now()
    #expect(throws: HTTPClientError.timeout) {
      try HTTPClient().send("GET", Self.url(server, "/x"), timeout: .milliseconds(200))
    }
    #expect(MonotonicTime.now().seconds(since: start) < 0.7)
  }

  @Test func `a port where nobody listens is a connect error`() throws {
    let server = try startServer([])
    let url = Self.url(server, "/")
    server.drain(within: .seconds(0))
    let error = #expect(throws: HTTPClientError.self) {
      try HTTPClient().send("GET", url, timeout: .seconds(2))
    }
    guard case .connect = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a server without TLS is a TLS error for https`() throws {
    let server = try startServer([.hello])
    let error = #expect(throws: HTTPClientError.self) {
      try HTTPClient().send(
        "GET", "https://127.0.0.1:\(server.port)/hello", timeout: .seconds(2))
    }
    guard case .tls = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: [
    ("GET\r\nX: y", "http://127.0.0.1:1/", "a", "b"), ("", "http://127.0.0.1:1/", "a", "b"),
    ("GET", "http://127.0.0.1:1/\r\n", "a", "b"), ("GET", "http://127.0.0.1:1/", "a\r\nc", "b"),
    ("GET", "http://127.0.0.1:1/", "a", "b\nc: d"), ("GET", "http://127.0.0.1:1/", "a", "b\0"),
    ("GET", "http://127.0.0.1:1/", "", "b"), ("GET", "file:///etc/passwd", "a", "b"),
    ("GET", "nonsense://x", "a", "b"),
  ])
  func `nothing can be smuggled into a request`(
    _ method: String, _ url: String, _ name: String, _ value: String
  ) {
    #expect(throws: HTTPClientError.invalidRequest) {
      try HTTPClient().send(method, url, headers: [(name, value)], timeout: .seconds(2))
    }
  }

  @Test func `an error says nothing of what was sent`() {
    let error = #expect(throws: HTTPClientError.self) {
      try HTTPClient().send(
        "GET", "http://secret:secret@127.0.0.1:1/secret", headers: [("Authorization", "secret")],
        timeout: .seconds(1))
    }
    #expect(error.map { "\($0)".contains("secret") } == false)
  }
}
