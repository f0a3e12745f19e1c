import Base
import HTTPMessages
import HTTPServer
import Testing

@Suite struct ExchangeTests {
  @Test func `a request gets the answer of its route`() throws {
    let server = try startServer([.hello])
    let response = RawClient(server).exchange(getHello)
    #expect(response?.status == 200)
    #expect(response?.text == "hello")
  }

  @Test func `a body comes back whole`() throws {
    let server = try startServer([.echo])
    let body = String(repeating: "0123456789", count: 900)
    let response = RawClient(server).exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n" + body)
    #expect(response?.text == body)
  }
}
