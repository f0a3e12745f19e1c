import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct AddressTests {
  @Test(arguments: [
    ("127.0.0.1:8080", "127.0.0.1", 8080), (":8080", "0.0.0.0", 8080), ("[::1]:0", "::1", 0),
    ("localhost:65535", "127.0.0.1", 65535), ("[::]:80", "::", 80),
  ])
  func `an address is read`(_ text: String, _ host: String, _ port: UInt16) {
    let address = SocketAddress(text)
    #expect(address?.host == host)
    #expect(address?.port == port)
  }

  @Test(arguments: [
    "", ":", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
    "::1:80", "[::1]", "[::1:80", "::1]:80", "[127.0.0.1]:80", "example.com:80", "1.2.3:80",
    "127.0.0.1:8 0", "[]:80", "127.0.0.1:８０",
  ])
  func `no other text is an address`(_ text: String) {
    #expect(SocketAddress(text) == nil)
  }

  @Test(arguments: ["127.0.0.1:80", "[::1]:80"])
  func `an address is written as it is read`(_ text: String) {
    #expect(SocketAddress(text)?.description == text)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false),
    ("0.0.0.0/0", "255.255.255.255", true), ("0.0.0.0/0", "::1", false),
    ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe00::1", false), ("::/0", "::1", true),
    ("::1/128", "::1", true), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
    ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
    ("2001:db8::/65", "2001:db8::7fff:0:0:1", true), ("10.0.0.0/8", "nonsense", false),
  ])
  func `a range holds its addresses`(_ range: String, _ address: String, _ isIn: Bool) {
    #expect(AddressRange(range)?.contains(address) == isIn)
  }

  @Test(arguments: [
    "", "10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "x", "10.0.0.0/8/8",
  ])
  func `no other text is a range`(_ text: String) {
    #expect(AddressRange(text) == nil)
  }

  @Test(arguments: [
    // Whether the peer (127.0.0.1) is trusted, its header fields, and the resulting address and scheme.
    (true, "", "127.0.0.1 http"),
    (true, "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n", "203.0.113.7 https"),
    (true, "X-Forwarded-For: 198.51.100.1, 203.0.113.7\r\n", "203.0.113.7 http"),
    (true, "X-Forwarded-For: 203.0.113.7, 127.0.0.9\r\n", "203.0.113.7 http"),
    (true, "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For: 127.0.0.9\r\n", "203.0.113.7 http"),
    (true, "X-Forwarded-For: 127.0.0.8, 127.0.0.9\r\n", "127.0.0.8 http"),
    (true, "X-Forwarded-For: 203.0.113.7, nonsense\r\n", "127.0.0.1 http"),
    (true, "X-Forwarded-For: \u{e9}, 203.0.113.7\r\n", "203.0.113.7 http"),
    (true, "X-Forwarded-For: \u{e9}\r\nX-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7 http"),
    (true, "X-Forwarded-For: 203.0.113.7, \u{e9}\r\n", "127.0.0.1 http"),
    (true, "X-Forwarded-For: a\r\nX-Forwarded-Proto: \u{e9}, https\r\n", "127.0.0.1 https"),
    (true, "X-Forwarded-Proto: gopher\r\n", "127.0.0.1 http"),
    (true, "X-Forwarded-Proto: https, http\r\n", "127.0.0.1 http"),
    (true, "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1 http"),
    (false, "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n", "127.0.0.1 http"),
  ])
  func `only a trusted proxy speaks for the client`(
    _ isTrusted: Bool, _ lines: String, _ expected: String
  ) throws {
    let server = try startServer(
      [.plain("GET", "/who") { head, _ in .text("\(head.remoteAddress) \(head.scheme)") }],
      proxies: isTrusted ? [AddressRange("127.0.0.0/8")!] : [])
    let response = RawClient(server).exchange("GET /who HTTP/1.1\r\nHost: a\r\n\(lines)\r\n")
    #expect(response?.text == expected)
  }

  @Test func `an IPv6 socket serves`() throws {
    let server = HTTPServer(listen: SocketAddress("[::]:0")!, routes: [.hello], name: "test") {
      _, _ in nil
    }
    try server.start()
    #expect(RawClient(server).exchange(getHello)?.status == 200)
    // It asks itself over IPv6.
    #expect(server.answers("/hello", within: .seconds(10)))
  }
}
