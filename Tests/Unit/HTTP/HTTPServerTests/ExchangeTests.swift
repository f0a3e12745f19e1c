import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct ExchangeTests {
  @Test func `a request gets the answer of its route`() throws {
    let server = try startServer([.hello])
    let response = RawClient(server).exchange(getHello)
    #expect(response?.status == 200)
    #expect(response?.text == "hello")
  }

  @Test func `an answer names its request and its date`() throws {
    let server = try startServer([
      .plain("GET", "/id") { head, _ in .text(head.requestID) }
    ])
    let response = try #require(
      RawClient(server).exchange("GET /id HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n"))
    let id = try #require(response.header("x-request-id"))
    #expect(id == response.text)
    #expect(id.count == 32 && Hex.decode(id) != nil)
    #expect(response.header("date") != nil)
  }

  @Test func `a route sees the raw target, the method and every header in order`() throws {
    let server = try startServer([
      Route("GET", "/v1/{a}/x/{b}") { head, captures in
        .ready(
          Admission(body: .none) { _ in
            let fields = head.headers.fields.map { "\($0.name)=\(Array($0.value))" }
            return .ready(
              .text("\(head.method) \(head.target) \(captures) \(head.authority) \(fields)"))
          })
      }
    ])
    let response = RawClient(server).exchange(
      "GET /v1/a%20b/x/%C3%A9?q=%2F+&r HTTP/1.1\r\nHost: Example.COM:80\r\nX-A: 1\r\nx-a:  2 \r\n\r\n"
    )
    #expect(
      response?.text == "GET /v1/a%20b/x/%C3%A9?q=%2F+&r [\"a%20b\", \"%C3%A9\"] example.com:80 "
        + "[\"host=\(Array("Example.COM:80".utf8))\", \"x-a=[49]\", \"x-a=[50]\"]")
  }

  @Test func `a literal segment wins over a captured one`() throws {
    let server = try startServer([
      .plain("GET", "/v1/{id}") { _, _ in .text("captured") },
      .plain("GET", "/v1/search") { _, _ in .text("literal") },
    ])
    #expect(
      RawClient(server).exchange("GET /v1/search HTTP/1.1\r\nHost: a\r\n\r\n")?.text == "literal")
  }

  @Test(arguments: ["/", "/hello/", "//hello", "/Hello", "/hello%20", "/hell%6F", "/x/../hello"])
  func `a path that is not a route's own is not found`(_ path: String) throws {
    let server = try startServer([.hello, .plain("GET", "/v1/{id}") { _, _ in .text("") }])
    let response = RawClient(server).exchange("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(response?.status == 404)
    #expect(response?.problem == "not_found")
  }

  @Test func `the route for elsewhere gets the paths that are no other route's`() throws {
    let server = try startServer([
      .plain("GET", Route.elsewhere) { head, _ in .text("elsewhere \(head.path)") }, .hello,
      .plain("PUT", "/v1/{id}", body: .memory(byteCountMax: 1)) { _, _ in .text("") },
    ])
    for path in ["/", "/a/b/c", "/hello/", "/*"] {
      let response = RawClient(server).exchange("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(response?.text == "elsewhere \(path)")
    }
    #expect(RawClient(server).exchange(getHello)?.text == "hello")
    let other = RawClient(server).exchange("GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(other?.status == 405)
    let deletion = RawClient(server).exchange("DELETE /a HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(deletion?.status == 404)
  }

  @Test func `an empty segment is not captured`() throws {
    let server = try startServer([.plain("GET", "/v1/{id}") { _, _ in .text("") }])
    #expect(RawClient(server).exchange("GET /v1/ HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 404)
  }

  @Test func `another method is answered 405 with those that are served`() throws {
    let server = try startServer([
      .hello, .plain("PUT", "/hello", body: .memory(byteCountMax: 1)) { _, _ in .text("") },
    ])
    let response = RawClient(server).exchange("DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(response?.status == 405)
    #expect(response?.problem == "method_not_allowed")
    #expect(response?.header("allow") == "GET, HEAD, PUT")
  }

  @Test func `HEAD has the header of GET and no body`() throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    client.send("HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let bytes = try #require(client.receiveAll())
    let response = try #require(RawResponse(bytes, toHead: true))
    #expect(response.header("content-length") == "5")
    #expect(bytes.suffix(4) == Array("\r\n\r\n".utf8)[...])
  }

  @Test func `an error without a mapping is a 500 that says nothing of it`() throws {
    struct Leak: Error { let secret = "the password" }
    let server = try startServer([.plain("GET", "/hello") { _, _ in throw Leak() }])
    let response = RawClient(server).exchange(getHello)
    #expect(response?.status == 500)
    #expect(response?.problem == "internal")
    #expect(response?.text.contains("password") == false)
  }

  @Test func `the owner maps its errors, and a problem passes as it is`() throws {
    struct Full: Error {}
    let server = try startServer(
      [
        .plain("GET", "/hello") { _, _ in throw Full() },
        .plain("GET", "/gone") { _, _ in throw Problem(410, "gone", "Gone", "It is gone.") },
      ],
      problem: { error, _ in
        Problem(503, error is Full ? "disk_full" : "wrong", "t", "d", retryAfterSeconds: 7)
      })
    let client = RawClient(server)
    let mapped = client.exchange(getHello)
    #expect(mapped?.problem == "disk_full")
    #expect(mapped?.header("retry-after") == "7")
    #expect(client.exchange("GET /gone HTTP/1.1\r\nHost: a\r\n\r\n")?.problem == "gone")
  }

  @Test func `a 304 and a 204 leave the connection in step`() throws {
    let server = try startServer([
      .plain("GET", "/304") { _, _ in .empty(304) },
      .plain("GET", "/204") { _, _ in .empty(204) }, .hello,
    ])
    let client = RawClient(server)
    #expect(client.exchange("GET /304 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 304)
    #expect(client.exchange("GET /204 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 204)
    #expect(client.exchange(getHello)?.text == "hello")
  }

  @Test(arguments: [0, 70_000])
  func `a 304 has the length of the content that it does not send`(byteCount: Int) throws {
    let content = Response.Body.bytes([UInt8](repeating: 7, count: byteCount))
    let server = try startServer([
      .plain("GET", "/known") { _, _ in .notModified(content, headers: [("ETag", "\"1\"")]) },
      .hello,
    ])
    let client = RawClient(server)
    let known = client.exchange("GET /known HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(known?.status == 304)
    #expect(known?.header("content-length") == "\(byteCount)")
    #expect(known?.header("etag") == "\"1\"")
    #expect(client.exchange(getHello)?.text == "hello")
  }

  @Test func `metrics count by class of status`() throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    _ = client.exchange(getHello)
    _ = client.exchange("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n")
    let lines = Metrics.shared.render().split(separator: "\n")
    for status in ["2xx", "4xx"] {
      let line = lines.first {
        $0.hasPrefix("coffer_test_http_requests_total{status=\"\(status)\"}")
      }
      #expect(line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0 > 0)
    }
  }
}
