/// A whole HTTP/1.1 request as a file holds it, which is the form of the webhook fixtures.
package struct RawRequest {
  package let method: String
  /// The target as it is sent: `/webhooks/stripe`.
  package let target: String
  package let headers: [(name: String, value: String)]
  package var body: [UInt8]

  /// Nil unless there is a request line, headers, an empty line and as much body as declared.
  ///
  /// Lines may end in CR LF or in LF alone. The body is taken byte for byte.
  package init?(_ bytes: [UInt8]) {
    guard let (head, body) = Self.split(bytes) else { return nil }
    // Split by scalars, because CR LF is one character in Swift.
    var lines = head.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Substring($0.last == "\r" ? $0.dropLast() : $0) }[...]
    let first = lines.popFirst()?.split(separator: " ") ?? []
    guard first.count == 3, first[1].hasPrefix("/"), first[2].hasPrefix("HTTP/1.") else {
      return nil
    }
    var headers: [(name: String, value: String)] = []
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      headers.append((String(line[..<colon]), String(value)))
    }
    let declared = headers.first { $0.name.lowercased() == "content-length" }
      .map { Int($0.value) ?? -1 }
    let length = declared ?? body.count
    guard 0...body.count ~= length else { return nil }
    method = String(first[0])
    target = String(first[1])
    self.headers = headers
    self.body = Array(body.prefix(length))
  }

  private static func split(_ bytes: [UInt8]) -> (head: String, body: ArraySlice<UInt8>)? {
    let lineFeed = UInt8(ascii: "\n")
    var index = bytes.startIndex
    while let end = bytes[index...].firstIndex(of: lineFeed) {
      let line = bytes[index..<end]
      if line.isEmpty || line.elementsEqual([UInt8(ascii: "\r")]) {
        guard index > 0, let head = String(validating: bytes[..<(index - 1)], as: UTF8.self) else {
          return nil
        }
        return (head, bytes[(end + 1)...])
      }
      index = end + 1
    }
    return nil
  }
}
