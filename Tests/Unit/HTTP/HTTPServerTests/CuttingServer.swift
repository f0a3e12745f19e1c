import Base
import Glibc

/// A server that answers every GET and keeps its connection, and closes that of any other request without an
/// answer.
final class CuttingServer: Sendable {
  let port: UInt16
  private let listener: Int32
  private let thread: Thread
  private let seen = Locked<[String]>([])

  init() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        _ = unsafe bind(listener, pointer, length)
        _ = unsafe getsockname(listener, pointer, &length)
      }
    }
    port = UInt16(bigEndian: name.sin_port)
    _ = listen(listener, 8)
    self.listener = listener
    thread = Thread { [seen] in Self.serve(listener, seen) }
  }

  deinit {
    // Ends the wait for the next client.
    shutdown(listener, Int32(SHUT_RDWR))
    thread.join()
    close(listener)
  }

  /// The methods of all requests so far.
  var methods: [String] { seen.withLock { $0 } }

  private static func serve(_ listener: Int32, _ seen: Locked<[String]>) {
    var clients: [Int32] = []
    defer { for client in clients { close(client) } }
    while true {
      var polled = ([listener] + clients).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      guard unsafe poll(&polled, nfds_t(polled.count), -1) > 0 else { return }
      clients = polled.dropFirst().filter { $0.revents == 0 || answers($0.fd, seen) }.map(\.fd)
      guard polled[0].revents != 0 else { continue }
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      clients.append(client)
    }
  }

  /// Handles one request; false if the client is dropped.
  private static func answers(_ client: Int32, _ seen: Locked<[String]>) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(client, &bytes, bytes.count, 0)
    let method = String(decoding: bytes[..<max(0, count)].prefix { $0 != 0x20 }, as: UTF8.self)
    if count > 0 { seen.withLock { $0.append(method) } }
    guard method == "GET" else {
      close(client)
      return false
    }
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    return unsafe answer.withUnsafeBytes { buffer in
      unsafe send(client, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
    } == answer.count
  }
}
