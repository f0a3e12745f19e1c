import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct RefusalTests {
  @Test func `a target beyond the limit is 414`() throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    client.send("GET /" + String(repeating: "a", count: 40_000) + " HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(RawResponse(client.receiveAll() ?? [], toHead: false)?.status == 414)
  }

  @Test(arguments: [25_000, 40_000])
  func `a header section beyond the limit is 431`(_ byteCount: Int) throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    let line = "X: " + String(repeating: "a", count: byteCount) + "\r\n"
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n" + line + "\r\n")
    #expect(RawResponse(client.receiveAll() ?? [], toHead: false)?.status == 431)
  }

  @Test func `a header section just below the limit passes`() throws {
    let server = try startServer([.hello])
    let line = "X: " + String(repeating: "a", count: 24_000) + "\r\n"
    #expect(
      RawClient(server).exchange("GET /hello HTTP/1.1\r\nHost: a\r\n" + line + "\r\n")?.status
        == 200)
  }

  @Test func `too many header fields are 431`() throws {
    let server = try startServer([.hello])
    let lines = String(repeating: "X: y\r\n", count: 100)
    let client = RawClient(server)
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n")
    let response = RawResponse(client.receiveAll() ?? [], toHead: false)
    #expect(response?.status == 431)
    #expect(response?.problem == "too_many_headers")
  }

  @Test func `a body without a length is 411`() throws {
    let server = try startServer([.echo])
    let response = RawClient(server).exchange("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(response?.status == 411)
    #expect(response?.problem == "length_required")
  }

  @Test func `a chunked body is 411 and the connection closes`() throws {
    let server = try startServer([.echo])
    let client = RawClient(server)
    client.send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    let response = RawResponse(client.receiveAll() ?? [], toHead: false)
    #expect(response?.problem == "length_required")
    #expect(response?.header("connection") == "close")
  }

  @Test func `a body longer than the route takes is 413, and a short one keeps the connection`()
    throws
  {
    let server = try startServer([.echo, .hello])
    let client = RawClient(server)
    let response = client.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10001\r\n\r\n"
        + String(repeating: "x", count: 10_001))
    #expect(response?.problem == "content_too_large")
    #expect(client.exchange(getHello)?.status == 200)
  }

  @Test func `a body far beyond the limit is 413 before it is read`() throws {
    let server = try startServer([.echo])
    let client = RawClient(server)
    let response = client.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000000\r\n\r\n")
    #expect(response?.status == 413)
    #expect(response?.header("connection") == "close")
  }

  @Test func `a client that keeps sending what was refused still reads the answer`() throws {
    let server = try startServer([.echo])
    let client = RawClient(server)
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n")
    client.send([UInt8](repeating: 0x78, count: 3_000_000))
    #expect(client.receiveResponse()?.problem == "content_too_large")
  }

  @Test func `a body for a route without one is 413`() throws {
    let server = try startServer([.hello])
    let response = RawClient(server).exchange(
      "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    #expect(response?.problem == "content_too_large")
  }

  @Test func `a client that waits gets 100 Continue and then its answer`() throws {
    let server = try startServer([.echo])
    let client = RawClient(server)
    let first = client.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n")
    #expect(first?.status == 100)
    #expect(client.exchange("abc")?.text == "abc")
  }

  @Test func `a client that waits gets its refusal instead of 100 Continue`() throws {
    let server = try startServer([
      Route("POST", "/echo") { _, _ in throw Problem(401, "unsigned", "Unsigned", "Sign it.") }
    ])
    let response = RawClient(server).exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    #expect(response?.status == 401)
    #expect(response?.header("connection") == "close")
  }

  @Test(arguments: ["200-ok", "100-continue, x", "100-continue\r\nExpect: 100-continue"])
  func `any other expectation is 417`(_ expectation: String) throws {
    let server = try startServer([.echo])
    let response = RawClient(server).exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: \(expectation)\r\n\r\nabc")
    #expect(response?.problem == "expectation_failed")
  }

  @Test(arguments: ["200-ok", "100-continue, x"])
  func `any other expectation is 417 at once, while its body is still withheld`(
    _ expectation: String
  ) throws {
    let server = try startServer([.echo])
    let response = RawClient(server).exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: \(expectation)\r\n\r\n")
    #expect(response?.problem == "expectation_failed")
    #expect(response?.header("connection") == "close")
  }

  @Test func `a refusal without a body keeps the connection`() throws {
    let server = try startServer([
      Route("GET", "/secret") { _, _ in throw Problem(401, "unsigned", "Unsigned", "Sign it.") },
      .hello,
    ])
    let client = RawClient(server)
    #expect(client.exchange("GET /secret HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 401)
    #expect(client.exchange(getHello)?.status == 200)
  }

  @Test func `a refused admission is abandoned once`() throws {
    let abandoned = Locked(0)
    let server = try startServer([
      Route("PUT", "/x") { _, _ in
        .ready(
          Admission(
            body: .memory(byteCountMax: 2), finish: { _ in .ready(.text("finished")) },
            abandon: { abandoned.withLock { $0 += 1 } }))
      }
    ])
    let response = RawClient(server).exchange(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    #expect(response?.status == 413)
    #expect(abandoned.withLock { $0 } == 1)
  }

  @Test(arguments: [(0, 200), (1, 409), (3, 413)])
  func `fields that a handler adds are on its answer, its refusal and the server's own`(
    byteCount: Int, status: Int
  ) throws {
    let server = try startServer([
      Route("PUT", "/x") { head, _ in
        head.answerFields.set("RateLimit", "on all")
        return .ready(
          Admission(body: .memory(byteCountMax: 2)) { bytes in
            guard bytes.isEmpty else { throw Problem(409, "taken", "Taken", "It is taken.") }
            return .ready(.text("done"))
          })
      }
    ])
    let response = RawClient(server).exchange(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: \(byteCount)\r\n\r\n"
        + String(repeating: "x", count: byteCount))
    #expect(response?.status == status)
    #expect(response?.header("ratelimit") == "on all")
  }
}
