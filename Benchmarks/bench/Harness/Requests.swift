/// Whole HTTP requests, ready to be sent, one after another in one buffer.
struct Requests: Sendable {
  private(set) var bytes: [UInt8] = []
  private var ends: [Int] = []

  var count: Int { ends.count }

  mutating func reserve(_ count: Int, byteCountEach: Int) {
    bytes.reserveCapacity(count * byteCountEach)
    ends.reserveCapacity(count)
  }

  /// `fields` come without Host and Content-Length, which every request here gets.
  mutating func append(
    _ method: String, _ target: String, host: String, fields: [(String, String)], body: [UInt8]
  ) {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    head += "Content-Length: \(body.count)\r\n\r\n"
    bytes += head.utf8
    bytes += body
    ends.append(bytes.count)
  }

  mutating func append(_ others: Requests) {
    ends += others.ends.map { bytes.count + $0 }
    bytes += others.bytes
  }

  /// The only request, as a proxy forwards it for a client at `address`.
  func forwarded(for address: String) -> Requests {
    var part = self
    let field = Array("X-Forwarded-For: \(address)\r\n".utf8)
    guard let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return self }
    part.bytes.insert(contentsOf: field, at: lineEnd + 1)
    part.ends = ends.map { $0 + field.count }
    return part
  }

  /// The same requests, of which the last is never finished.
  func withoutLastByte() -> Requests {
    var part = self
    part.bytes.removeLast()
    part.ends[part.ends.count - 1] -= 1
    return part
  }

  func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  /// The first `count` requests, for a server that may see the same request twice.
  func prefix(_ count: Int) -> Requests {
    var part = self
    part.ends = Array(ends.prefix(count))
    part.bytes = Array(bytes.prefix(part.ends.last ?? 0))
    return part
  }
}
