import Base
import Glibc

extension SocketAddress {
  /// Whether an HTTP server at this address answers a request for the path in time, with any response.
  func answers(_ path: String, within span: Instant.Span) -> Bool {
    let descriptor = makeOwnedSocket()
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var limit = timeval(
      tv_sec: Int(span.milliseconds / 1000), tv_usec: Int(span.milliseconds % 1000 * 1000))
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      unsafe setsockopt(
        descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let code = unsafe withName { name, byteCount in unsafe connect(descriptor, name, byteCount) }
    guard code == 0 else { return false }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: \(self)\r\nConnection: close\r\n\r\n".utf8)
    guard unsafe send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
    else { return false }
    var byte: UInt8 = 0
    return unsafe recv(descriptor, &byte, 1, 0) == 1
  }
}
