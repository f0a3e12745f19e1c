import Base
import Glibc
import HTTPMessages
import HTTPServer
import RawClient
import Testing

/// Connections that outlive their exchange.
@Suite struct HandoverTests {
  /// Takes sockets over and lets the test have them.
  private final class Heir: ConnectionHeir {
    private let sockets = Locked<[Int32]>([])

    func take(_ descriptor: Int32) { sockets.signal { $0.append(descriptor) } }

    /// The next socket; nil after ten seconds.
    func next() -> Int32? {
      sockets.wait(until: .now() + .seconds(10)) { $0.isEmpty ? nil : $0.removeFirst() }
    }

    deinit { for socket in sockets.withLock({ $0 }) { close(socket) } }
  }

  private static func route(_ heir: Heir) -> Route {
    .plain("GET", "/stream") { _, _ in
      Response(
        status: 200, headers: [("Content-Type", "text/event-stream")], body: .inherited(heir))
    }
  }

  private static let target = "/stream"
  private static let host = [("Host", "a")]

  private static func connect(_ server: HTTPServer) throws -> RawStream {
    try #require(RawStream(connectingTo: server.port, "GET", target, host))
  }

  private static func write(_ text: String, to socket: Int32) {
    let bytes = Array(text.utf8)
    _ = unsafe send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  @Test func `the heir goes on after the head, and ends the connection when it likes`() throws {
    let heir = Heir()
    let server = try startServer([Self.route(heir)])
    let stream = try Self.connect(server)
    #expect(stream.isOpened)
    #expect(stream.head.contains("\r\nContent-Type: text/event-stream"))
    #expect(stream.head.contains("\r\nX-Request-Id: "))
    let socket = try #require(heir.next())
    for text in ["one", "two"] {
      Self.write("data: \(text)\n\n", to: socket)
      #expect(stream.next() == text)
    }
    close(socket)
    #expect(stream.nextBlock() == nil)
  }

  @Test func `a connection that was handed over counts no more, and outlives the server`() throws {
    let heir = Heir()
    var limits = usualLimits
    limits.connectionCountMax = 3
    let server = try startServer([Self.route(heir), .hello], limits: limits)
    var streams: [(client: RawStream, socket: Int32)] = []
    for _ in 0..<6 {
      let client = try Self.connect(server)
      streams.append((client, try #require(heir.next())))
    }
    #expect(RawClient(server).exchange(getHello)?.status == 200)
    server.drain(within: .seconds(5))
    for stream in streams {
      Self.write("data: after\n\n", to: stream.socket)
      #expect(stream.client.next() == "after")
      close(stream.socket)
    }
  }

  @Test func `deadlines of the server do not end what was handed over`() throws {
    let heir = Heir()
    let server = try startServer([Self.route(heir)], limits: quickLimits)
    let stream = try Self.connect(server)
    let socket = try #require(heir.next())
    defer { close(socket) }
    pause(milliseconds: 1500)
    Self.write("data: still\n\n", to: socket)
    #expect(stream.next() == "still")
  }

  /// The sockets of this process that have the port at their own end.
  private static func sockets(at port: UInt16) -> [Int32] {
    (Int32(0)..<4096).filter { descriptor in
      var name = sockaddr_in()
      var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = unsafe withUnsafeMutablePointer(to: &name) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe getsockname(descriptor, pointer, &byteCount)
        }
      }
      return code == 0 && name.sin_family == sa_family_t(AF_INET)
        && UInt16(bigEndian: name.sin_port) == port
    }
  }

  @Test func `a connection that is reset before it is handed over leaves no socket open`() throws {
    let (heir, isAsked, isReset) = (Heir(), Locked(false), Locked(false))
    let route = Route.plain("GET", Self.target) { _, _ in
      isAsked.signal { $0 = true }
      _ = isReset.wait(until: .now() + .seconds(10)) { $0 ? true : nil }
      return Response(status: 200, body: .inherited(heir))
    }
    let server = try startServer([route])
    let listening = Self.sockets(at: server.port)
    let client = RawClient(server)
    client.send("GET", Self.target, Self.host)
    _ = isAsked.wait(until: .now() + .seconds(10)) { $0 ? true : nil }
    client.reset()
    pause(milliseconds: 100)
    isReset.signal { $0 = true }
    let end = MonotonicTime.now() + .seconds(10)
    while Self.sockets(at: server.port) != listening, MonotonicTime.now() < end {
      pause(milliseconds: 10)
    }
    #expect(Self.sockets(at: server.port) == listening)
  }

  @Test func `a watch sees the end, and takes no more than the buffer holds`() throws {
    let heir = Heir()
    let server = try startServer([Self.route(heir)])
    var client: RawStream? = try Self.connect(server)
    let socket = try #require(heir.next())
    let watch = try #require(SocketWatch())
    #expect(watch.add(socket, silence: .seconds(60)))
    #expect(watch.wait(atMost: 0).isEmpty)
    watch.ring()
    #expect(watch.wait(atMost: 10_000).isEmpty)
    let bytes = [UInt8](repeating: 0x3A, count: 64 * 1024)
    var (sent, count) = (0, -1)
    while count != 0, sent < 64 << 20 {
      count = try #require(watch.send(bytes, to: socket))
      sent += count
    }
    #expect(count == 0)
    withExtendedLifetime(client) {}
    client = nil
    let events = watch.wait(atMost: 10_000)
    #expect(
      events.contains { event in
        if case .gone(socket) = event { true } else { false }
      })
    watch.end(socket)
  }
}
