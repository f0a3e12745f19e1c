import HTTPMessages
import HTTPSignatures
import Testing

/// The examples of RFC 9421, section 2, and components that no request signature may cover.
@Suite struct ComponentTests {
  private func request(
    _ method: String = "POST", _ target: String = "/path?param=value",
    scheme: String = "https", authority: String = "www.example.com",
    _ headers: [(String, String)] = []
  ) -> RequestHead {
    RequestHead(
      method: method, target: target, headers: Headers(headers), authority: authority,
      scheme: scheme)
  }

  /// The line of one component in the signature base.
  private func line(_ component: String, of request: RequestHead) throws -> String {
    let item = try StructuredFieldParser.item(Array(component.utf8))
    let base = try SignatureBase(
      covering: .init([item]), of: request,
      kinds: ["example-dict": .dictionary, "example-list": .list, "example-item": .item])
    let text = String(decoding: base.bytes, as: UTF8.self)
    return String(text.prefix { $0 != "\n" })
  }

  private func refusal(_ component: String, of request: RequestHead) -> SignatureRefusal? {
    do {
      _ = try line(component, of: request)
      return nil
    } catch { return error as? SignatureRefusal }
  }

  private var fields: RequestHead {
    request(
      "GET", "/",
      [
        ("Host", "www.example.com"), ("Date", "Tue, 20 Apr 2021 02:07:56 GMT"),
        ("X-OWS-Header", "   Leading and trailing whitespace.   "),
        ("X-Obs-Fold-Header", "Obsolete\r\n    line folding."),
        ("Cache-Control", "max-age=60"), ("Cache-Control", "    must-revalidate"),
        ("Example-Dict", " a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("X-Empty-Header", ""), ("Example-List", "1 ,  2.500;a=?1"), ("Example-Item", "  x;y=?0"),
      ])
  }

  @Test(arguments: [
    (#""host""#, "www.example.com"),
    (#""date""#, "Tue, 20 Apr 2021 02:07:56 GMT"),
    (#""x-ows-header""#, "Leading and trailing whitespace."),
    (#""x-obs-fold-header""#, "Obsolete line folding."),
    (#""cache-control""#, "max-age=60, must-revalidate"),
    (#""example-dict""#, "a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
    (#""x-empty-header""#, ""),
    (#""example-dict";sf"#, "a=1, b=2;x=1;y=2, c=(a b c), d"),
    (#""example-list";sf"#, "1, 2.5;a"),
    (#""example-item";sf"#, "x;y=?0"),
    (#""example-dict";key="a""#, "1"),
    (#""example-dict";key="d""#, "?1"),
    (#""example-dict";key="b""#, "2;x=1;y=2"),
    (#""example-dict";key="c""#, "(a b c)"),
    (#""example-dict";sf;key="c""#, "(a b c)"),
  ])
  func `a field gives the value of section 2.1`(component: String, value: String) throws {
    #expect(try line(component, of: fields) == "\(component): \(value)")
  }

  @Test func `bs wraps every line of a field by itself`() throws {
    let head = request(
      "GET", "/", [("Example-Header", "value, with, lots"), ("Example-Header", "of, commas")])
    #expect(
      try line(#""example-header";bs"#, of: head)
        == #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"#)
  }

  @Test func `bs of one line differs from bs of two`() throws {
    let head = request("GET", "/", [("Example-Header", "value, with, lots, of, commas")])
    #expect(
      try line(#""example-header";bs"#, of: head)
        == #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHMsIG9mLCBjb21tYXM=:"#)
  }

  @Test(arguments: [
    ("@method", "POST"), ("@target-uri", "https://www.example.com/path?param=value"),
    ("@authority", "www.example.com"), ("@scheme", "https"),
    ("@request-target", "/path?param=value"), ("@path", "/path"), ("@query", "?param=value"),
  ])
  func `a derived component gives the value of section 2.2`(name: String, value: String) throws {
    #expect(try line("\"\(name)\"", of: request()) == "\"\(name)\": \(value)")
  }

  @Test(arguments: [
    ("/path?param=value&foo=bar&baz=bat%2Dman", "?param=value&foo=bar&baz=bat%2Dman"),
    ("/path?queryString", "?queryString"), ("/path", "?"), ("/path?", "?"),
  ])
  func `the query keeps its spelling and its question mark`(target: String, value: String) throws {
    #expect(try line(#""@query""#, of: request("GET", target)) == #""@query": "# + value)
  }

  @Test(arguments: [
    ("baz", "batman"), ("qux", ""), ("param", "value"),
  ])
  func `a query parameter gives its value`(name: String, value: String) throws {
    let head = request("GET", "/path?param=value&foo=bar&baz=batman&qux=")
    let component = "\"@query-param\";name=\"\(name)\""
    #expect(try line(component, of: head) == "\(component): \(value)")
  }

  @Test(arguments: [
    ("var", "this%20is%20a%20big%0Amultiline%20value"), ("bar", "with%20plus%20whitespace"),
    ("fa%C3%A7ade%22%3A%20", "something"),
  ])
  func `a query parameter is decoded and encoded again`(name: String, value: String) throws {
    let head = request(
      "GET",
      "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace"
        + "&fa%C3%A7ade%22%3A%20=something")
    let component = "\"@query-param\";name=\"\(name)\""
    #expect(try line(component, of: head) == "\(component): \(value)")
  }

  @Test(arguments: [
    ("http", "WWW.Example.COM:80", "www.example.com"),
    ("https", "www.example.com:443", "www.example.com"),
    ("http", "www.example.com:443", "www.example.com:443"),
    ("https", "www.example.com:80", "www.example.com:80"),
    ("http", "127.0.0.1:8080", "127.0.0.1:8080"), ("http", "[::1]:80", "[::1]"),
  ])
  func `the authority is in lower case without the default port`(
    scheme: String, authority: String, value: String
  ) throws {
    let head = request("GET", "/", scheme: scheme, authority: authority)
    #expect(try line(#""@authority""#, of: head) == #""@authority": "# + value)
  }

  @Test func `a query parameter that stands twice is refused`() {
    let head = request("GET", "/?a=1&%61=2")
    #expect(
      refusal(#""@query-param";name="a""#, of: head)
        == .malformed("the query parameter a stands twice"))
  }

  @Test(arguments: ["/?b=1", "/"])
  func `a query parameter that is not there is refused`(target: String) {
    #expect(
      refusal(#""@query-param";name="a""#, of: request("GET", target))
        == .componentAbsent("@query-param a"))
  }

  @Test(arguments: ["/?a=%", "/?a=%4", "/?a=%zz", "/?a=%ff"])
  func `a query parameter that cannot be decoded is refused`(target: String) {
    #expect(
      refusal(#""@query-param";name="a""#, of: request("GET", target))
        == .malformed("the query parameter a is no encoding"))
  }

  @Test(arguments: [
    #""@status""#, #""@request-response""#, #""@query-param""#, #""@method";x"#, #""@path";req"#,
    #""@query-param";name=a"#, #""date";tr"#, #""date";req"#, #""date";x=1"#, #""date";sf=1"#,
    #""example-dict";key=a"#, #""date";sf"#, #""example-dict";bs;sf"#,
    #""example-dict";bs;key="a""#,
  ])
  func `what no request signature can have is refused`(component: String) {
    guard case .componentUnsupported = refusal(component, of: fields) else {
      Issue.record("\(component) was not refused as unsupported")
      return
    }
  }

  @Test(arguments: [#""x-missing""#, #""example-dict";key="z""#])
  func `a covered field that is not there is refused`(component: String) {
    guard case .componentAbsent = refusal(component, of: fields) else {
      Issue.record("\(component) was not refused as absent")
      return
    }
  }

  @Test(arguments: [
    #""Date""#, #""@signature-params""#, #""""#, "date", "1", #""date";key="a""#,
  ])
  func `a component that is none is malformed`(component: String) {
    guard case .malformed = refusal(component, of: fields) else {
      Issue.record("\(component) was not refused as malformed")
      return
    }
  }

  @Test(arguments: ["a\u{0}b", "a\u{7F}b", "é", "a\u{1}"])
  func `a value that is not printable ASCII is refused`(value: String) {
    let head = request("GET", "/", [("X", value)])
    #expect(refusal(#""x""#, of: head) == .malformed("the component x is not printable ASCII"))
  }

  @Test func `a line break in a value cannot forge a line`() throws {
    let head = request("GET", "/", [("X", "a\n\"@method\": DELETE")])
    #expect(try line(#""x""#, of: head) == #""x": a "@method": DELETE"#)
  }

  @Test(arguments: [
    #"("date" "date")"#, #"("example-dict";key="a";sf "example-dict";sf;key="a")"#,
  ])
  func `a component that stands twice is refused`(list: String) throws {
    let entries = try StructuredFieldParser.dictionary(Array("s=\(list)".utf8))
    guard case .innerList(let input) = entries[0].member else {
      Issue.record("no list")
      return
    }
    #expect(throws: SignatureRefusal.self) {
      try SignatureBase(covering: input, of: fields, kinds: ["example-dict": .dictionary])
    }
  }
}
