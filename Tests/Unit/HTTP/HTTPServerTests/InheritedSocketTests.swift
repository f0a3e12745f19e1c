import Base
import Glibc
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct InheritedSocketTests {
  private static func environment(_ count: String = "1") -> [String: String] {
    ["LISTEN_PID": "7", "LISTEN_FDS": count]
  }

  private static func server(at address: SocketAddress) -> HTTPServer {
    HTTPServer(listen: address, routes: [.hello], name: "test") { _, _ in nil }
  }

  @Test func `a restart on an inherited socket refuses and drops nobody`() throws {
    let socket = try ListeningSocket()
    let address = SocketAddress("127.0.0.1:\(socket.port)")!
    let isOver = Locked(false)
    let outcomes = Locked<[Int?]>([])
    let clients = (0..<4).map { _ in
      Thread {
        while !isOver.withLock({ $0 }) {
          let status = RawClient(connectingTo: socket.port)?.exchange(getHello)?.status
          outcomes.withLock { $0.append(status) }
        }
      }
    }
    for _ in 0..<4 {
      let server = Self.server(at: address)
      try server.start(
        inheriting: InheritedSockets(
          environment: Self.environment(), processID: 7, first: socket.copy(),
          listeningAt: [address]))
      #expect(server.port == socket.port)
      pause(milliseconds: 50)
      server.drain(within: .seconds(5))
      // No server is running; new connections wait.
      pause(milliseconds: 20)
    }
    let last = Self.server(at: address)
    try last.start(
      inheriting: InheritedSockets(
        environment: Self.environment(), processID: 7, first: socket.copy(), listeningAt: [address])
    )
    isOver.withLock { $0 = true }
    for client in clients { client.join() }
    let statuses = outcomes.withLock { $0 }
    #expect(statuses.count > 20)
    #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses.filter { $0 != 200 })")
  }

  @Test func `a socket where no setting says stops the start and is named`() throws {
    let socket = try ListeningSocket()
    #expect(throws: HTTPServerError.inheritedElsewhere("127.0.0.1:\(socket.port)")) {
      _ = try InheritedSockets(
        environment: Self.environment(), processID: 7, first: socket.copy(),
        listeningAt: [SocketAddress("127.0.0.1:1")!])
    }
  }

  @Test(arguments: [["LISTEN_PID": "8", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], [:]])
  func `sockets of another process are none of ours`(environment: [String: String]) throws {
    let sockets = try InheritedSockets(environment: environment, processID: 7, listeningAt: [])
    let server = Self.server(at: SocketAddress("127.0.0.1:0")!)
    try server.start(inheriting: sockets)
    #expect(RawClient(server).exchange(getHello)?.status == 200)
  }

  @Test func `a server answers itself, unless what it is asked for never ends`() throws {
    let desk = Desk<Response>()
    let stuck = Route("GET", "/stuck") { _, _ in .ready(Admission(body: .none) { _ in desk.step }) }
    var limits = quickLimits
    limits.answerSpan = .seconds(60)
    let server = try startServer([.hello, stuck], limits: limits)
    #expect(server.answers("/hello", within: .seconds(10)))
    #expect(server.answers("/nowhere", within: .seconds(10)))
    #expect(!server.answers("/stuck", within: .milliseconds(200)))
    server.drain(within: .milliseconds(1))
    #expect(!server.answers("/hello", within: .seconds(1)))
  }
}

/// A listening socket that something other than a server holds open.
private final class ListeningSocket: Sendable {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let code = unsafe withUnsafeMutablePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, byteCount) + getsockname(descriptor, pointer, &byteCount)
      }
    }
    port = UInt16(bigEndian: name.sin_port)
    try #require(code == 0 && listen(descriptor, 1000) == 0)
  }

  deinit { close(descriptor) }

  /// Another descriptor of the socket, for a server to keep.
  func copy() -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 100) }
}
