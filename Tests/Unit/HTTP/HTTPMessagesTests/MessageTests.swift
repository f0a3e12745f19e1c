import HTTPMessages
import JSON
import Testing

@Suite struct MessageTests {
  @Test func `header names are found in any case and values joined in order`() {
    let headers = Headers([("X-A", "1"), ("x-b", "2"), ("X-a", "3")])
    #expect(headers.all("x-a") == [Array("1".utf8), Array("3".utf8)])
    #expect(headers.text("x-a") == "1, 3")
    #expect(headers.combined("x-c") == nil)
  }

  @Test(arguments: [[0xC3, 0xA9], [0x00], [0x7F], [0x0A]] as [[UInt8]])
  func `a value that is not printable ASCII has no text`(_ value: [UInt8]) {
    var headers = Headers()
    headers.append("x", value)
    #expect(headers.text("x") == nil)
    #expect(headers.combined("x") == value)
  }

  @Test(
    arguments: [
      ("/", "/", nil), ("/a?b=c?d", "/a", "b=c?d"), ("/a?", "/a", ""), ("/%3F", "/%3F", nil),
    ] as [(String, String, String?)])
  func `a target is path and query`(_ target: String, _ path: String, _ query: String?) {
    let head = RequestHead(method: "GET", target: target, headers: Headers(), authority: "a")
    #expect(head.path == path[...])
    #expect(head.query.map(String.init) == query)
  }

  @Test func `a problem is written as RFC 9457 says, and names the request`() throws {
    let problem = Problem(
      507, "over_quota", "Over quota", "Too much.", members: [.init("cap", 1000)],
      retryAfterSeconds: 9, headers: [.init("X", "y")])
    let response = problem.response(requestID: "r1")
    guard case .bytes(let bytes) = response.body else {
      Issue.record("not bytes")
      return
    }
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"type":"urn:coffer:problem:over_quota","title":"Over quota","status":507,"#
        + #""detail":"Too much.","instance":"urn:coffer:request:r1","cap":1000}"#)
    #expect(response.status == 507)
    #expect(
      response.headers.map { "\($0.name): \($0.value)" } == [
        "Content-Type: application/problem+json", "Retry-After: 9", "X: y",
      ])
  }
}
