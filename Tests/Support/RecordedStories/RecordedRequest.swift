/// A recorded delivery: a whole raw HTTP request.
package struct RecordedRequest: Sendable {
  /// Such as `03-invoice.paid.http`.
  package let name: String
  package let bytes: [UInt8]
  package let requestLine: String
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]

  init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
    let gap = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: gap) }) else {
      preconditionFailure("\(name) has no end of headers")
    }
    body = Array(bytes[(end + gap.count)...])
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    requestLine = String(lines[0])
    headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (String(parts[0]), String(parts[1].drop { $0 == " " }))
    }
  }

  /// The store that sends the delivery, from the last part of its path.
  package var store: String {
    let path = requestLine.split(separator: " ")[1]
    return path.split(separator: "/").last.map(String.init) ?? ""
  }

  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}
