/// A response as read from the connection.
package struct RawResponse {
  package let status: Int
  package let head: String
  package let body: [UInt8]

  /// Nil until the bytes are a whole response.
  package init?(_ bytes: [UInt8], toHead: Bool) {
    let separator = Array("\r\n\r\n".utf8)
    guard
      let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) })
    else { return nil }
    head = String(decoding: bytes[..<end], as: UTF8.self)
    let words = head.split(separator: " ", maxSplits: 2)
    guard words.count > 1, let status = Int(words[1]) else { return nil }
    self.status = status
    let rest = bytes[(end + 4)...]
    let count =
      toHead || status < 200 || status == 304
      ? 0 : Self.header("content-length", head).flatMap(Int.init) ?? 0
    guard rest.count >= count else { return nil }
    body = Array(rest.prefix(count))
  }

  package func header(_ name: String) -> String? { Self.header(name, head) }

  private static func header(_ name: String, _ head: String) -> String? {
    for line in head.split(separator: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == name {
        return String(parts[1].drop { $0 == " " })
      }
    }
    return nil
  }

  package var text: String { String(decoding: body, as: UTF8.self) }

  /// The stable code of a problem; nil for any other body.
  package var problem: String? {
    guard header("content-type") == "application/problem+json" else { return nil }
    let parts = text.split(separator: "urn:coffer:problem:", maxSplits: 1)
    return parts.count == 2 ? String(parts[1].prefix { $0 != "\"" }) : nil
  }
}
