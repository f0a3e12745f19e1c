import Base
import HTTPMessages
import HTTPServer
import RawClient
import SeededRandom
import Testing

/// A request that libmicrohttpd lets through, or nearly, and that the server must refuse.
struct Malformed: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let request: String

  init(_ rule: String, _ request: String) {
    testDescription = rule
    self.request = request
  }

  /// A GET with these lines between the request line and the empty line.
  init(_ rule: String, lines: String) {
    self.init(rule, "GET /hello HTTP/1.1\r\n\(lines)\r\n")
  }

  static let all = [
    Malformed("no Host", lines: "Accept: */*\r\n"),
    Malformed("no Host in HTTP/1.0", "GET /hello HTTP/1.0\r\n\r\n"),
    Malformed("two Hosts", lines: "Host: a\r\nHost: b\r\n"),
    Malformed("two equal Hosts", lines: "Host: a\r\nhost: a\r\n"),
    Malformed("an empty Host", lines: "Host:\r\n"),
    Malformed("a Host that is a colon", lines: "Host: :\r\n"),
    Malformed("a Host with a space", lines: "Host: a b\r\n"),
    Malformed("a Host with user information", lines: "Host: u@a\r\n"),
    Malformed("a Host with a path", lines: "Host: a/b\r\n"),
    Malformed("a Host with a list", lines: "Host: a,b\r\n"),
    Malformed("a Host with a bad port", lines: "Host: a:8o\r\n"),
    Malformed("a Host with an empty port", lines: "Host: a:\r\n"),
    Malformed("a Host with an open bracket", lines: "Host: [::1\r\n"),
    Malformed("a name before the Host's colon with a space", lines: "Host : a\r\n"),
    Malformed("two lengths", lines: "Host: a\r\nContent-Length: 0\r\nContent-Length: 1\r\n"),
    Malformed(
      "two equal lengths", lines: "Host: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n"),
    Malformed("a list of lengths", lines: "Host: a\r\nContent-Length: 0, 0\r\n"),
    Malformed("a signed length", lines: "Host: a\r\nContent-Length: +1\r\n"),
    Malformed("a negative length", lines: "Host: a\r\nContent-Length: -1\r\n"),
    Malformed("an empty length", lines: "Host: a\r\nContent-Length:\r\n"),
    Malformed("a length in hex", lines: "Host: a\r\nContent-Length: 0x1\r\n"),
    Malformed(
      "a length beyond 2^63", lines: "Host: a\r\nContent-Length: 9223372036854775808\r\n"),
    Malformed(
      "a length of 2^63 - 1", lines: "Host: a\r\nContent-Length: 9223372036854775807\r\n"),
    Malformed(
      "a length with chunked",
      lines: "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
    Malformed(
      "chunked with a length",
      lines: "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
    Malformed("gzip coding", lines: "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"),
    Malformed("identity coding", lines: "Host: a\r\nTransfer-Encoding: identity\r\n"),
    Malformed("chunked with a space behind", lines: "Host: a\r\nTransfer-Encoding: chunked \r\n"),
    Malformed(
      "chunked twice",
      lines: "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
    Malformed("a header name with a space", lines: "Host: a\r\nX Y: z\r\n"),
    Malformed("a tab before a colon", lines: "Host: a\r\nX\t: z\r\n"),
    Malformed("an empty header name", lines: "Host: a\r\n: z\r\n"),
    Malformed("a header name with a bracket", lines: "Host: a\r\nX(Y): z\r\n"),
    Malformed("a header name beyond ASCII", lines: "Host: a\r\nXé: z\r\n"),
    Malformed("a folded header", lines: "Host: a\r\nX: y\r\n z\r\n"),
    Malformed("a header folded by a tab", lines: "Host: a\r\nX: y\r\n\tz\r\n"),
    Malformed("a folded header of colons", lines: "Host: a\r\nX: y\r\n Content-Length: 3\r\n"),
    Malformed("a folded first header", lines: " Host: a\r\nHost: a\r\n"),
    Malformed("a bare line feed", lines: "Host: a\nX: y\r\n"),
    Malformed("a bare line feed behind the last header", lines: "Host: a\n"),
    Malformed(
      "a bare line feed behind the request line", "GET /hello HTTP/1.1\nHost: a\r\n\r\n"),
    Malformed("a bare line feed at the end", "GET /hello HTTP/1.1\r\nHost: a\r\n\n"),
    Malformed("a bare carriage return in a value", lines: "Host: a\r\nX: y\rz\r\n"),
    Malformed("a NUL in a value", lines: "Host: a\r\nX: y\0z\r\n"),
    Malformed("two NULs in a value", lines: "Host: a\r\nX: y\0\0z: w\r\n"),
    Malformed("a NUL at a value's end", lines: "Host: a\r\nX: y\0\r\n"),
    Malformed("a hidden line behind NULs", lines: "Host: a\r\nX: y\0\0Z\0w\r\n"),
    Malformed("a NUL in a name", lines: "Host: a\r\nX\0Y: z\r\n"),
    Malformed("a control character in a value", lines: "Host: a\r\nX: y\u{1}z\r\n"),
    Malformed("a DEL in a value", lines: "Host: a\r\nX: y\u{7F}z\r\n"),
    Malformed("an absolute target", "GET http://a/hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an asterisk target", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an authority target", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a target without a slash", "GET hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("%00 in the path", "GET /hello%00x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("%00 in the query", "GET /hello?x=%00 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an encoded slash", "GET /a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an encoded slash in lower case", "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an escape without digits", "GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("an escape with one digit", "GET /a%4 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a lone percent sign", "GET /hello?x=% HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a NUL in the target", "GET /hello\0x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a tab in the target", "GET /hello\tx HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a carriage return in the target", "GET /hello\rx HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a fragment in the target", "GET /hello#x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("bytes beyond ASCII in the target", "GET /héllo HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("two spaces before the target", "GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("two spaces before the version", "GET /hello  HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed("a method that is no token", "GE(T /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    Malformed(
      "a method of 33 letters",
      String(repeating: "M", count: 33) + " /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
  ]

  /// The cases that libmicrohttpd itself refuses, with HTML or by closing, before it calls us.
  static let refusedBelow: Set<String> = [
    "no Host", "a signed length", "a negative length", "an empty length", "a length in hex",
    "a list of lengths", "a NUL in a name", "two spaces before the version",
    "a name before the Host's colon with a space",
  ]
}

@Suite struct MalformedRequestTests {
  @Test(arguments: Malformed.all)
  func `a malformed request is answered 400, its connection closed, no route reached`(
    _ malformed: Malformed
  ) throws {
    let reached = Locked(false)
    let server = try startServer([
      Route("GET", "/hello") { _, _ in
        reached.withLock { $0 = true }
        return .ready(Admission(body: .none) { _ in .ready(.text("reached")) })
      }
    ])
    let client = RawClient(server)
    client.send(malformed.request)
    let bytes = try #require(client.receiveAll(), "the connection stays open")
    #expect(!reached.withLock { $0 })
    guard let response = RawResponse(bytes, toHead: false) else {
      // Closed without an answer, which happens only if libmicrohttpd never called us.
      #expect(bytes.isEmpty)
      #expect(Malformed.refusedBelow.contains(malformed.testDescription))
      return
    }
    #expect(response.status == 400)
    #expect(response.header("connection")?.lowercased() == "close")
    if !Malformed.refusedBelow.contains(malformed.testDescription) {
      #expect(response.problem == "malformed_request")
    }
  }

  @Test(arguments: [
    "Host: a", "Host: a.example:8080", "Host: 127.0.0.1:1", "Host: [::1]:8080", "Host: A_b-c.d",
    "Host: \t a \t ", "Host: a\r\nX:", "Host: a\r\nX: é", "Host: a\r\nX: a:b",
    "Host: a\r\nContent-Length: 0", "hOST: a",
  ])
  func `what only looks unusual passes`(_ lines: String) throws {
    let server = try startServer([.hello])
    let response = RawClient(server).exchange("GET /hello HTTP/1.1\r\n\(lines)\r\n\r\n")
    #expect(response?.status == 200)
  }

  @Test func `a malformed request hides none behind it`() throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + getHello)
    let bytes = try #require(client.receiveAll())
    #expect(!String(decoding: bytes, as: UTF8.self).contains("200 OK"))
  }

  @Test func `random damage to a request never reaches a route as something else`() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let server = try startServer([
      .plain("GET", "/hello") { head, _ in
        let names = head.headers.fields.map(\.name)
        let isClean = head.authority == "localhost" && names == ["host", "x", "connection"]
        return isClean ? .text("clean") : .text("other \(names) \(head.authority)")
      }
    ])
    let request = Array(
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: some value\r\nConnection: close\r\n\r\n".utf8)
    let damage = Array("\0\r\n\t :;%/?#\u{1}\u{7F}".utf8)
    for _ in 0..<400 {
      var bytes = request
      let place = Int(random.next() % UInt64(bytes.count - 4))
      bytes.insert(damage[Int(random.next() % UInt64(damage.count))], at: place)
      let client = RawClient(server)
      client.send(bytes)
      client.finishSending()
      let answer = client.receiveResponse()
      let isHarmless =
        answer == nil || answer?.status != 200 || answer?.text == "clean"
        // The inserted character is one that a value or a name may contain.
        || answer?.text.contains("localhost") == true
      #expect(
        isHarmless, "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }
  }
}
