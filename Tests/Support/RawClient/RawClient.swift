import Glibc

/// A TCP client that sends exactly what a test writes, and waits for data for at most 10 seconds.
package final class RawClient: Sendable {
  private let descriptor: Int32

  /// Nil if nothing listens on the port. `bufferByteCount` bounds what arrives before it is received.
  package init?(connectingTo port: UInt16, bufferByteCount: Int32? = nil) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var bufferByteCount {
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &bufferByteCount, socklen_t(MemoryLayout<Int32>.size))
    }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let code = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Returns false if the server has closed the connection.
  @discardableResult
  package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends a request without a body.
  package func send(_ method: String, _ target: String, _ headers: [(String, String)]) {
    let fields = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    send("\(method) \(target) HTTP/1.1\r\n\(fields)\r\n")
  }

  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { buffer in
        unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Signals that nothing more will come.
  package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Ends the connection with a reset, as a process that dies does. After a mere shutdown, a server that
  /// cannot send would notice it only at its next probe, which can take a minute.
  package func reset() {
    var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
    unsafe connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Whether unread data has arrived. Does not wait.
  package var hasAnswer: Bool {
    var byte: UInt8 = 0
    return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
  }

  /// The next part of what the server sends; empty at the end, nil after 10 seconds of silence.
  package func receive() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
    if count < 0 { return errno == ECONNRESET ? [] : nil }
    return Array(bytes[..<count])
  }

  /// Everything up to the end of the connection; nil if it does not end.
  package func receiveAll() -> [UInt8]? {
    var all: [UInt8] = []
    while let part = receive() {
      if part.isEmpty { return all }
      all += part
    }
    return nil
  }

  /// The next response; nil if it does not arrive complete. Discards everything after it.
  package func receiveResponse(toHead: Bool = false) -> RawResponse? {
    var bytes: [UInt8] = []
    while true {
      if let response = RawResponse(bytes, toHead: toHead) { return response }
      guard let part = receive(), !part.isEmpty else { return nil }
      bytes += part
    }
  }

  /// Sends a request and receives its response.
  package func exchange(_ request: String) -> RawResponse? {
    send(request)
    return receiveResponse()
  }
}
