import Glibc

/// A TCP connection to a server on loopback that sends whole requests and reads whole answers.
@safe
final class Socket {
  static let answerByteCountMax = 64 * 1024

  let descriptor: Int32
  private(set) var input: [UInt8]
  private var inputCount = 0

  /// `source` is the loopback address of the client.
  init(
    port: UInt16, from source: UInt32 = 0x7F00_0001, answerByteCountMax: Int = answerByteCountMax
  ) throws(BenchError) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code =
      unsafe Self.with(source, port: 0) { unsafe bind(descriptor, $0, size) }
      | Self.with(0x7F00_0001, port: port) { unsafe connect(descriptor, $0, size) }
    var yes: Int32 = 1
    guard code == 0 else {
      let reason = errno
      close(descriptor)
      throw .system("connect to 127.0.0.1:\(port)", errno: reason)
    }
    unsafe setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    self.descriptor = descriptor
    input = [UInt8](repeating: 0, count: answerByteCountMax)
  }

  deinit { close(descriptor) }

  private static func with(
    _ host: UInt32, port: UInt16, _ body: (UnsafePointer<sockaddr>) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
    }
  }

  func send(_ requests: Requests, _ index: Int) throws(BenchError) {
    let range = requests.range(index)
    var sent = range.lowerBound
    while sent < range.upperBound {
      let count = unsafe requests.bytes.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          descriptor, bytes.baseAddress! + sent, range.upperBound - sent,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw .system("write to the server", errno: errno) }
      sent += count
    }
  }

  /// Reads what is available. Returns the status once the answer is complete; nil before.
  func receive() throws(BenchError) -> Int? {
    let count = unsafe input.withUnsafeMutableBytes { bytes in
      unsafe recv(
        descriptor, bytes.baseAddress! + inputCount, bytes.count - inputCount, 0)
    }
    guard count > 0 else {
      throw count == 0
        ? .server("the server closed a connection") : .system("read an answer", errno: errno)
    }
    inputCount += count
    guard let head = try ResponseHead.parse(input, count: inputCount) else { return nil }
    guard head.byteCount <= input.count else { throw .server("an answer too long") }
    guard inputCount >= head.byteCount else { return nil }
    guard inputCount == head.byteCount else { throw .server("bytes after an answer") }
    lastAnswerByteCount = inputCount
    inputCount = 0
    return head.status
  }

  private var lastAnswerByteCount = 0

  /// The last whole answer, head and body.
  var lastAnswer: String { String(decoding: input[..<lastAnswerByteCount], as: UTF8.self) }

  /// Head and body of the last whole answer.
  var lastParts: (head: ArraySlice<UInt8>, body: ArraySlice<UInt8>) {
    let bytes = input[..<lastAnswerByteCount]
    let end = bytes.indices.first { index in
      index >= 3 && bytes[index] == 10 && bytes[index - 2] == 10
    }
    let middle = end.map { $0 + 1 } ?? bytes.endIndex
    return (bytes[..<middle], bytes[middle...])
  }
}
