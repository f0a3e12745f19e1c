import Base
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct ConnectionTests {
  @Test func `a connection serves request after request`() throws {
    let server = try startServer([.hello, .echo])
    let client = RawClient(server)
    for n in 0..<100 {
      #expect(client.exchange(getHello)?.text == "hello")
      let text = "\(n)"
      let response = client.exchange(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(text.utf8.count)\r\n\r\n" + text)
      #expect(response?.text == text)
    }
  }

  @Test func `pipelined requests are answered in order`() throws {
    let server = try startServer([
      .plain("GET", "/n/{n}") { head, _ in .text(String(head.path.dropFirst(3))) }
    ])
    let client = RawClient(server)
    let count = 20
    client.send(
      (1...count).map { n in
        "GET /n/\(n) HTTP/1.1\r\nHost: a\r\n" + (n == count ? "Connection: close\r\n" : "") + "\r\n"
      }.joined())
    let text = String(decoding: try #require(client.receiveAll()), as: UTF8.self)
    let bodies = text.split(separator: "HTTP/1.1 200").map { $0.split(separator: "\r\n\r\n").last }
    #expect(bodies == (1...count).map { "\($0)"[...] })
  }

  @Test func `HTTP 1.0 gets its answer and a closed connection`() throws {
    let server = try startServer([.hello])
    let client = RawClient(server)
    client.send("GET /hello HTTP/1.0\r\nHost: a\r\n\r\n")
    let response = RawResponse(try #require(client.receiveAll()), toHead: false)
    #expect(response?.text == "hello")
  }

  @Test func `a connection beyond the limit is refused at once, and one that goes makes room`()
    throws
  {
    var limits = quickLimits
    limits.connectionCountMax = 3
    limits.idleSpan = .seconds(10)
    let server = try startServer([.hello], limits: limits)
    var clients = (0..<3).map { _ in RawClient(server) }
    for client in clients { #expect(client.exchange(getHello)?.status == 200) }
    let refused = RawClient(server)
    refused.send(getHello)
    let response = RawResponse(refused.receiveAll() ?? [], toHead: false)
    #expect(response?.problem == "too_many_connections")
    clients.removeLast()
    #expect(poll { RawClient(server).exchange(getHello)?.status == 200 })
  }

  /// A server with room for two connections of an address, and a route that blocks its worker.
  private struct Crowded {
    let server: HTTPServer
    let heldCount = Locked(0)
    let isReleased = Locked(false)

    init(_ proxies: [AddressRange] = [], workerCount: Int = 2) throws {
      var limits = quickLimits
      limits.workerCount = workerCount
      limits.connectionsPerAddressMax = 2
      limits.headSpan = .seconds(30)
      limits.idleSpan = .seconds(30)
      let (heldCount, isReleased) = (heldCount, isReleased)
      let held = Route.plain("GET", "/held") { _, _ in
        heldCount.signal { $0 += 1 }
        _ = isReleased.wait(until: .now() + .seconds(10)) { $0 ? true : nil }
        return .text("held")
      }
      server = try startServer([.hello, held], limits: limits, proxies: proxies)
    }
  }

  @Test func `a new connection of an address at its limit closes the one that is idle the longest`()
    throws
  {
    // With one worker, so that the first client is idle before the second sends its request.
    let server = try Crowded(workerCount: 1).server
    let (first, second) = (RawClient(server), RawClient(server))
    #expect(first.exchange(getHello)?.status == 200)
    #expect(second.exchange(getHello)?.status == 200)
    #expect(RawClient(server).exchange(getHello)?.status == 200)
    #expect(first.receiveAll()?.isEmpty == true)
    #expect(second.exchange(getHello)?.status == 200)
  }

  @Test func `headers that never end do not keep their address's next client out`() throws {
    let server = try Crowded().server
    let stalled = (0..<300).map { _ in RawClient(server) }
    for client in stalled { client.send("GET /hello HTTP/1.1\r\nHost: a\r\nX: ") }
    #expect(poll { RawClient(server).exchange(getHello)?.status == 200 })
  }

  @Test func `a request under way is never given up for a new connection of its address`() throws {
    let crowded = try Crowded()
    let busy = (0..<2).map { _ in RawClient(crowded.server) }
    for client in busy { client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n") }
    #expect(crowded.heldCount.wait(until: .now() + .seconds(5)) { $0 == 2 ? true : nil } == true)
    let late = RawClient(crowded.server)
    late.send(getHello)
    #expect(
      RawResponse(late.receiveAll() ?? [], toHead: false)?.problem == "too_many_connections")
    crowded.isReleased.signal { $0 = true }
    for client in busy { #expect(client.receiveResponse()?.text == "held") }
  }

  @Test func `trusted proxies are exempt from the limit of an address`() throws {
    let server = try Crowded([AddressRange("127.0.0.0/8")!]).server
    let clients = (0..<5).map { _ in RawClient(server) }
    for client in clients { #expect(client.exchange(getHello)?.status == 200) }
    for client in clients { #expect(client.exchange(getHello)?.status == 200) }
  }

  @Test func `many connections at once are all served`() throws {
    let server = try startServer([.hello])
    let clients = (0..<300).map { _ in RawClient(server) }
    for _ in 0..<3 {
      for client in clients { client.send(getHello) }
      for client in clients { #expect(client.receiveResponse()?.text == "hello") }
    }
  }

  /// libmicrohttpd's own loop takes 128 events at a time and then waits for more before it serves
  /// them (MHD_epoll in daemon.c of 0.9.75).
  @Test func `a worker serves as many requests at once as its poll can report`() throws {
    var limits = ServerLimits()
    limits.workerCount = 1
    let isHeld = Locked(false)
    let held = Route.plain("GET", "/held") { _, _ in
      isHeld.signal { $0 = true }
      pause(milliseconds: 200)
      return .text("held")
    }
    let server = try startServer([.hello, held], limits: limits)
    let holder = RawClient(server)
    let clients = (0..<128).map { _ in RawClient(server) }
    for client in clients { #expect(client.exchange(getHello)?.status == 200) }
    holder.send("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(isHeld.wait(until: .now() + .seconds(3)) { $0 ? true : nil } == true)
    for client in clients { client.send(getHello) }
    #expect(clients.filter { $0.receiveResponse()?.text != "hello" }.count == 0)
    #expect(holder.receiveResponse()?.text == "held")
  }

  @Test func `a taken address says so`() throws {
    let server = try startServer([.hello])
    let address = SocketAddress("127.0.0.1:\(server.port)")!
    let second = HTTPServer(listen: address, routes: [], name: "test") { _, _ in nil }
    let error = #expect(throws: HTTPServerError.self) { try second.start() }
    #expect(error == .addressInUse(address))
    #expect(error?.description == "address 127.0.0.1:\(server.port) is already in use")
  }

  @Test func `an address of no interface says so`() throws {
    let server = HTTPServer(listen: SocketAddress("192.0.2.1:0")!, routes: [], name: "test") {
      _, _ in nil
    }
    let error = #expect(throws: HTTPServerError.self) { try server.start() }
    #expect(error?.description.hasPrefix("cannot listen on 192.0.2.1:0: ") == true)
  }
}
