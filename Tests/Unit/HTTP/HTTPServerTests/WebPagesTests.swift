import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct WebPagesTests {
  private static let origin = "https://app.example.com"

  private static func server(_ origins: Set<String> = [origin]) throws -> HTTPServer {
    let files = Route.plain("GET", "/v1/files") { head, _ in
      if head.query != nil { throw Problem(409, "taken", "Taken", "It is taken.") }
      return .text("files")
    }
    let server = HTTPServer(
      listen: SocketAddress("127.0.0.1:0")!, routes: [files, .hello], limits: quickLimits,
      pages: WebPages(origins: origins), name: "test"
    ) { _, _ in nil }
    try server.start()
    return server
  }

  private static func request(
    _ method: String, _ target: String, _ fields: [String: String] = [:]
  ) -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: a\r\n"
      + fields.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
  }

  private static func question(of origin: String, at target: String = "/v1/files") -> String {
    request(
      "OPTIONS", target,
      [
        "Origin": origin, "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "signature,signature-input",
      ])
  }

  @Test(arguments: ["/v1/files", "/v1/nowhere"])
  func `a browser that asks for a known page is told what it may send`(target: String) throws {
    let server = try Self.server()
    let answer = RawClient(server).exchange(
      Self.question(of: Self.origin, at: target))
    #expect(answer?.status == 204)
    #expect(answer?.header("access-control-allow-origin") == Self.origin)
    #expect(answer?.header("access-control-allow-methods")?.contains("PUT") == true)
    let sent = answer?.header("access-control-allow-headers") ?? ""
    for name in ["Signature", "Signature-Input", "Content-Digest", "If-Match", "Authorization"] {
      #expect(sent.split(separator: ", ").contains { $0 == name }, "\(name)")
    }
    #expect(answer?.header("access-control-max-age") == "7200")
    #expect(answer?.header("vary") == "Origin")
    #expect(answer?.header("access-control-allow-credentials") == nil)
  }

  @Test(arguments: ["https://evil.example", "https://app.example.com.evil.example", "null", "*"])
  func `an unknown page is refused`(origin: String) throws {
    let server = try Self.server()
    let asked = RawClient(server).exchange(Self.question(of: origin))
    #expect(asked?.status == 403)
    #expect(asked?.problem == "origin_unknown")
    #expect(asked?.header("access-control-allow-origin") == nil)
    let sent = RawClient(server).exchange(Self.request("GET", "/v1/files", ["Origin": origin]))
    #expect(sent?.status == 200)
    #expect(sent?.header("access-control-allow-origin") == nil)
    #expect(sent?.header("vary") == "Origin")
  }

  @Test(arguments: [("/v1/files", 200), ("/v1/files?x", 409), ("/v1/nowhere", 404)])
  func `a known page may read any answer and the fields that matter`(
    target: String, status: Int
  ) throws {
    let server = try Self.server()
    let answer = RawClient(server).exchange(
      Self.request("GET", target, ["Origin": Self.origin]))
    #expect(answer?.status == status)
    #expect(answer?.header("access-control-allow-origin") == Self.origin)
    let read = answer?.header("access-control-expose-headers") ?? ""
    for name in ["ETag", "RateLimit", "Retry-After", "Location", "X-Request-Id"] {
      #expect(read.split(separator: ", ").contains { $0 == name }, "\(name)")
    }
  }

  @Test func `a host of its own has pages of its own, which may use every path there`() throws {
    let own = "https://budget.example.com"
    let server = HTTPServer(
      listen: SocketAddress("127.0.0.1:0")!, routes: [.hello], limits: quickLimits,
      pages: WebPages(
        origins: [Self.origin],
        elsewhere: .init(authorities: ["a"], origins: [own], sent: "X-Token", exposed: "X-Method")),
      name: "test"
    ) { _, _ in nil }
    try server.start()
    let asked = RawClient(server).exchange(Self.question(of: own, at: "/hello"))
    #expect(asked?.status == 204)
    #expect(asked?.header("access-control-allow-origin") == own)
    #expect(asked?.header("access-control-allow-headers") == "X-Token")
    let read = RawClient(server).exchange(Self.request("GET", "/hello", ["Origin": own]))
    #expect(read?.status == 200)
    #expect(read?.header("access-control-allow-origin") == own)
    #expect(read?.header("access-control-expose-headers") == "X-Method")
    let other = RawClient(server).exchange(Self.question(of: Self.origin))
    #expect(other?.status == 403)
    let elsewhere = RawClient(server).exchange(
      Self.question(of: own).replacing("Host: a", with: "Host: b"))
    #expect(elsewhere?.status == 403)
  }

  @Test func `without pages, and beside the API, nothing is said of them`() throws {
    let closed = try Self.server([])
    let asked = RawClient(closed).exchange(Self.question(of: Self.origin))
    #expect(asked?.status == 405)
    #expect(asked?.header("vary") == nil)
    let open = try Self.server()
    let beside = RawClient(open).exchange(
      Self.request("GET", "/hello", ["Origin": Self.origin]))
    #expect(beside?.status == 200)
    #expect(beside?.header("access-control-allow-origin") == nil)
    #expect(beside?.header("vary") == nil)
  }

  @Test func `an OPTIONS request that is no browser's question is no method of ours`() throws {
    let server = try Self.server()
    let answer = RawClient(server).exchange(
      Self.request("OPTIONS", "/v1/files", ["Origin": Self.origin]))
    #expect(answer?.status == 405)
  }
}
