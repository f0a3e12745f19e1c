import Base
import Glibc
import JSON

/// One raw HTTP/1.1 exchange over loopback: bytes out as they stand, one answer back.
struct RawExchange {
  let status: Int
  let body: [UInt8]

  private static let patience = timeval(tv_sec: 30, tv_usec: 0)

  /// The code of the problem that was answered; nil where it is none.
  var problem: String? {
    let prefix = "urn:coffer:problem:"
    guard let type = (try? JSON.parse(body))?["type"].string, type.hasPrefix(prefix) else {
      return nil
    }
    return String(type.dropFirst(prefix.count))
  }

  /// Sends the bytes to `port` and reads one answer; throws where none comes whole.
  init(_ bytes: [UInt8], to port: UInt16) throws {
    let descriptor = try Self.connect(to: port)
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { buffer in
        unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw ScenarioError("the server takes no more: error \(errno)") }
      rest = rest.dropFirst(count)
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw ScenarioError("no whole answer came: error \(errno)") }
      answer += buffer[..<count]
      if let (status, body) = Self.parse(answer) {
        self.status = status
        self.body = body
        return
      }
    }
  }

  /// Sends the bytes and goes away without an answer.
  static func abandon(_ bytes: [UInt8], to port: UInt16) {
    guard let descriptor = try? connect(to: port) else { return }
    _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    close(descriptor)
  }

  /// Sends a head at a byte a second; whether the server ends that within 20 seconds.
  static func isClosedOnDawdling(to port: UInt16) -> Bool {
    guard let descriptor = try? connect(to: port) else { return false }
    defer { close(descriptor) }
    let deadline = MonotonicTime.now() + .seconds(20)
    for byte in Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8) {
      var byte = byte
      guard MonotonicTime.now() < deadline else { return false }
      if unsafe Glibc.send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) < 1 { return true }
      var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&file, 1, 1000) > 0 { return true }
    }
    return false
  }

  private static func connect(to port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = patience
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else {
      close(descriptor)
      throw ScenarioError("nobody listens on \(port)")
    }
    return descriptor
  }

  /// Nil while the answer is not whole.
  private static func parse(_ bytes: [UInt8]) -> (status: Int, body: [UInt8])? {
    let gap = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: gap) }) else {
      return nil
    }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    let words = lines[0].split(separator: " ")
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
    guard words.count > 1, let status = Int(words[1]), let length else { return nil }
    let body = bytes[(end + gap.count)...]
    return body.count < length ? nil : (status, Array(body.prefix(length)))
  }
}
