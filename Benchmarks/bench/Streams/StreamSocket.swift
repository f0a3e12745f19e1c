import Base
import Glibc

/// A client's end of a live stream, which has been told something once.
final class StreamSocket {
  /// What a client asks for.
  static let target = "/v1/updates/stream"

  private static let mark = Array("\ndata: ".utf8)
  private static let patienceSeconds = 60
  /// More than a second's events of a writer.
  private static let partByteCountMax = 8192

  private let socket: Socket

  /// Sends request `index` and waits for the first event: from then on no change is missed.
  init(
    _ requests: Requests, _ index: Int, port: UInt16, from source: UInt32 = 0x7F00_0001
  ) throws(BenchError) {
    socket = try Socket(port: port, from: source, answerByteCountMax: 1)
    var wait = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    unsafe setsockopt(
      socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    try socket.send(requests, index)
    var text: [UInt8] = []
    while !Self.tells(text) {
      guard let part = receive(waits: true), !part.isEmpty else {
        throw .server("no stream:\n\(String(decoding: text, as: UTF8.self))")
      }
      text += part
    }
  }

  var descriptor: Int32 { socket.descriptor }

  /// The next part of what the server sends; empty if nothing comes, nil if the stream is over.
  func receive(waits: Bool = false) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: Self.partByteCountMax)
    let count = unsafe recv(
      socket.descriptor, &bytes, bytes.count, waits ? 0 : Int32(MSG_DONTWAIT))
    if count > 0 { return Array(bytes[..<count]) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? [] : nil
  }

  /// Whether a part has an event. The server sends each at once, so none is in two parts.
  static func tells(_ part: [UInt8]) -> Bool { part.firstRange(of: mark) != nil }
}
