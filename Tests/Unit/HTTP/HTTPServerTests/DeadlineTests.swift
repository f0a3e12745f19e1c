import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

/// Slow clients against the short limits of `quickLimits`.
@Suite struct DeadlineTests {
  /// Sends one byte every 50 ms until the server closes. Returns the seconds that this took; nil if more than
  /// 3.
  private static func drip(_ text: String, to client: RawClient) -> Double? {
    let start = MonotonicTime.now()
    for byte in text.utf8 {
      guard client.send([byte]) else { break }
      pause(milliseconds: 50)
      if MonotonicTime.now().seconds(since: start) > 3 { return nil }
    }
    guard client.receiveAll() != nil else { return nil }
    return MonotonicTime.now().seconds(since: start)
  }

  private static let slowLines = String(repeating: "X: y\r\n", count: 50)

  @Test func `a client that sends nothing is closed`() throws {
    let client = RawClient(try startServer([.hello], limits: quickLimits))
    #expect(client.receiveAll() == [])
  }

  @Test func `a header that drips in is cut off`() throws {
    let server = try startServer([.hello], limits: quickLimits)
    let seconds = Self.drip("GET /hello HTTP/1.1\r\n" + Self.slowLines, to: RawClient(server))
    #expect(try #require(seconds) < 2)
  }

  @Test func `a request line that drips in is cut off`() throws {
    let server = try startServer([.hello], limits: quickLimits)
    let line = "GET /" + String(repeating: "a", count: 100)
    #expect(try #require(Self.drip(line, to: RawClient(server))) < 2)
  }

  @Test func `a second request's header that drips in is cut off`() throws {
    let server = try startServer([.hello], limits: quickLimits)
    let client = RawClient(server)
    _ = client.exchange(getHello)
    let seconds = Self.drip("GET /hello HTTP/1.1\r\n" + Self.slowLines, to: client)
    #expect(try #require(seconds) < 2.5)
  }

  @Test func `a body that drips in is cut off and its admission abandoned once`() throws {
    let witness = Witness()
    let server = try startServer([witness.route()], limits: quickLimits)
    let client = RawClient(server)
    client.send("PUT /content HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
    let seconds = Self.drip(String(repeating: "b", count: 99), to: client)
    #expect(try #require(seconds) < 2)
    #expect(witness.becomes { $0.abandoned == 1 })
    #expect(witness.seen.finished == 0)
  }

  @Test func `a body has the more time the longer it is`() throws {
    var limits = quickLimits
    limits.byteRateMin = 10
    let server = try startServer([.echo], limits: limits)
    let client = RawClient(server)
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n")
    for _ in 0..<20 {
      client.send("b")
      pause(milliseconds: 50)
    }
    #expect(client.receiveResponse()?.body.count == 20)
  }

  @Test func `a connection that idles is closed`() throws {
    let server = try startServer([.hello], limits: quickLimits)
    let client = RawClient(server)
    let start = MonotonicTime.now()
    _ = client.exchange(getHello)
    #expect(client.receiveAll() == [])
    #expect(MonotonicTime.now().seconds(since: start) > 0.5)
  }

  @Test func `a connection in use outlives every span`() throws {
    let server = try startServer([.hello], limits: quickLimits)
    let client = RawClient(server)
    for _ in 0..<12 {
      #expect(client.exchange(getHello)?.status == 200)
      pause(milliseconds: 150)
    }
  }

  @Test func `a client that does not read its answer is closed`() throws {
    let body = [UInt8](repeating: 0x61, count: 30_000_000)
    var limits = quickLimits
    limits.byteRateMin = 100_000_000
    let server = try startServer(
      [.plain("GET", "/large") { _, _ in Response(status: 200, body: .bytes(body)) }],
      limits: limits)
    let client = RawClient(server)
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    pause(milliseconds: 1600)
    let received = try #require(client.receiveAll())
    #expect(received.count < body.count)
  }
}
