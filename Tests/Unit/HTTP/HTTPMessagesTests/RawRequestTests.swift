import HTTPMessages
import Testing

struct RawRequestTests {
  private func read(_ text: String) -> RawRequest? { RawRequest(Array(text.utf8)) }

  @Test(arguments: ["\r\n", "\n"])
  func `a request is read with either line end`(end: String) throws {
    let lines = ["POST /webhooks/stripe HTTP/1.1", "Host: example.com", "X-Empty:", "", "{}\r\n"]
    let request = try #require(read(lines.joined(separator: end)))
    #expect(request.method == "POST")
    #expect(request.target == "/webhooks/stripe")
    #expect(request.headers.map(\.name) == ["Host", "X-Empty"])
    #expect(request.headers.map(\.value) == ["example.com", ""])
    #expect(request.body == Array("{}\r\n".utf8))
  }

  @Test func `the body is as long as it is declared`() {
    #expect(read("PUT / HTTP/1.1\nContent-Length: 2\n\nabc")?.body == Array("ab".utf8))
    #expect(read("PUT / HTTP/1.1\nContent-Length: 4\n\nabc") == nil)
    #expect(read("PUT / HTTP/1.1\nContent-Length: x\n\nabc") == nil)
  }

  @Test(arguments: [
    "", "\n\nbody", "GET / HTTP/1.1\nHost: a", "GET HTTP/1.1\n\n", "GET a HTTP/1.1\n\n",
    "GET / HTTP/2\n\n", "GET / HTTP/1.1\n: a\n\n", "GET / HTTP/1.1\nHost\n\n",
  ])
  func `anything else is no request`(text: String) { #expect(read(text) == nil) }
}
