import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct DrainTests {
  private static func route(_ desk: Desk<Response>) -> Route {
    Route("GET", "/work") { _, _ in .ready(Admission(body: .none) { _ in desk.step }) }
  }

  private static let getWork = "GET /work HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `idle connections are closed and new ones refused at once`() throws {
    let server = try startServer([.hello])
    let port = server.port
    let client = RawClient(server)
    _ = client.exchange(getHello)
    let start = MonotonicTime.now()
    server.drain(within: .seconds(5))
    #expect(MonotonicTime.now().seconds(since: start) < 1)
    #expect(client.receiveAll() == [])
    #expect(server.port == 0)
    // No server listens on the port any more.
    let other = HTTPServer(
      listen: SocketAddress("127.0.0.1:\(port)")!, routes: [], name: "test"
    ) { _, _ in nil }
    try other.start()
  }

  @Test func `a client that has sent nothing holds up the drain for a second only`() throws {
    var limits = usualLimits
    limits.headSpan = .seconds(60)
    let server = try startServer([.hello], limits: limits)
    let silent = RawClient(server)
    // Connections are accepted in turn.
    _ = RawClient(server).exchange(getHello)
    let start = MonotonicTime.now()
    server.drain(within: .seconds(20))
    #expect(MonotonicTime.now().seconds(since: start) < 10)
    #expect(silent.receiveAll() == [])
  }

  @Test func `a suspended request gets its answer, the last of its connection`() throws {
    let desk = Desk<Response>()
    let server = try startServer([Self.route(desk)])
    let client = RawClient(server)
    client.send(Self.getWork)
    let complete = try #require(desk.next())
    let completer = Thread {
      pause(milliseconds: 100)
      complete(.success(.text("done")))
    }
    server.drain(within: .seconds(5))
    completer.join()
    let response = RawResponse(client.receiveAll() ?? [], toHead: false)
    #expect(response?.text == "done")
    #expect(response?.header("connection") == "close")
  }

  @Test func `a request that stays suspended gets a 503, and its late answer is dropped`() throws {
    var limits = quickLimits
    limits.answerSpan = .seconds(60)
    let desk = Desk<Response>()
    let server = try startServer([Self.route(desk)], limits: limits)
    let clients = (0..<20).map { _ in RawClient(server) }
    for client in clients { client.send(Self.getWork) }
    let completions = try clients.map { _ in try #require(desk.next()) }
    let start = MonotonicTime.now()
    server.drain(within: .milliseconds(100))
    #expect(MonotonicTime.now().seconds(since: start) < 2)
    for client in clients {
      #expect(RawResponse(client.receiveAll() ?? [], toHead: false)?.problem == "stopping")
    }
    for complete in completions { complete(.success(.text("late"))) }
  }

  @Test func `a client in mid-body cannot hold the drain up`() throws {
    let witness = Witness()
    var limits = quickLimits
    limits.bodySpan = .seconds(60)
    let server = try startServer([witness.route()], limits: limits)
    let client = RawClient(server)
    client.send("PUT /content HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nb")
    #expect(poll { !witness.seen.bytes.isEmpty })
    let start = MonotonicTime.now()
    server.drain(within: .milliseconds(50))
    #expect(MonotonicTime.now().seconds(since: start) < 3.5)
    #expect(witness.seen.abandoned == 1)
  }

  @Test func `a server let go of without a drain stops by itself, even with a request suspended`()
    throws
  {
    let desk = Desk<Response>()
    var server: HTTPServer? = try startServer([Self.route(desk)])
    let client = RawClient(try #require(server))
    client.send(Self.getWork)
    let complete = try #require(desk.next())
    server = nil
    #expect(RawResponse(client.receiveAll() ?? [], toHead: false)?.problem == "stopping")
    complete(.success(.text("late")))
  }

  @Test func `draining under load loses no answer that was promised`() throws {
    for _ in 0..<5 {
      let desk = Desk<Response>()
      let server = try startServer([Self.route(desk), .hello])
      let port = server.port
      let completer = Thread {
        while let complete = desk.next(within: .milliseconds(500)) {
          complete(.success(.text("done")))
        }
      }
      let isOver = Locked(false)
      let noise = (0..<4).map { _ in
        Thread {
          while !isOver.withLock({ $0 }) {
            guard let client = RawClient(connectingTo: port) else { return }
            for _ in 0..<20 { if client.exchange(getHello) == nil { break } }
          }
        }
      }
      let clients = (0..<10).map { _ in RawClient(server) }
      for client in clients { client.send(Self.getWork) }
      pause(milliseconds: 20)
      server.drain(within: .seconds(3))
      isOver.withLock { $0 = true }
      for thread in noise { thread.join() }
      for client in clients {
        let bytes = client.receiveAll() ?? []
        #expect(bytes.isEmpty || RawResponse(bytes, toHead: false)?.text == "done")
      }
      completer.join()
    }
  }
}
