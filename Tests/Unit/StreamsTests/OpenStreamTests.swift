import Base
import Glibc
import HTTPServer
import Streams
import Testing

@Suite struct OpenStreamTests {
  /// Everything that has arrived at a socket.
  private func received(_ socket: Int32) -> String {
    var text = ""
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return text }
      text += String(decoding: bytes[..<count], as: UTF8.self)
    }
  }

  @Test func `a client that reads again gets what waited, and then no more is waited for`() throws {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let code = unsafe socketpair(AF_UNIX, kind, 0, &ends)
    try #require(code == 0)
    let (socket, client) = (ends[0], ends[1])
    let watch = try #require(SocketWatch())
    defer {
      watch.end(socket)
      close(client)
    }
    let (limits, now) = (StreamLimits(), MonotonicTime.now())
    let seat = try Seats(limits, trustsProxies: false)
      .take(for: Identifier(high: 1, low: 1), from: "127.0.0.1")
    var streams = OpenStreams(watch, limits)
    let hasBegun = streams.begin(socket, seat, at: now)
    #expect(hasBegun)
    // More than the buffer takes.
    for _ in 0..<10_000 { streams.tell(socket, Tell(kinds: ["tree"]), at: now) }
    #expect(received(client).hasPrefix("retry: "))
    let events = watch.wait(atMost: 10_000)
    #expect(
      events.contains { event in
        if case .hasRoom(socket) = event { true } else { false }
      })
    streams.goOn(socket, at: now)
    #expect(received(client).hasSuffix("data: {\"tree\":true}\n\n"))
    #expect(watch.wait(atMost: 0).isEmpty)
  }
}
