/// An id that lacks its end, or its middle: `d3b073`, or `d3b073…8c` as tables show it.
package struct ShortIdentifier: Sendable {
  /// Every id that it may stand for is between these two.
  package let first: Identifier
  package let last: Identifier
  private let end: Substring

  /// Fewer digits at the beginning would stand for too many ids.
  package static let digitCountMin = 6

  /// Nil unless the text is a part of an id, with at least six digits of its beginning.
  package init?(_ text: String) {
    let parts = text.lowercased().split(separator: "…", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count) else { return nil }
    let digits = parts[0].filter { $0 != "-" }
    guard (Self.digitCountMin..<32).contains(digits.count),
      let first = Identifier(digits: digits, then: "0"),
      let last = Identifier(digits: digits, then: "f"),
      first.description.hasPrefix(parts[0])
    else { return nil }
    self.first = first
    self.last = last
    end = parts.count == 2 ? parts[1] : ""
  }

  package func standsFor(_ id: Identifier) -> Bool {
    first <= id && id <= last && id.description.hasSuffix(end)
  }
}

extension Identifier {
  /// Nil if a digit is not hexadecimal.
  fileprivate init?(digits: String, then filling: Character) {
    let all = digits + String(repeating: filling, count: 32 - digits.count)
    guard let bytes = Hex.decode(Array(all.utf8)) else { return nil }
    self.init(bytes: bytes)
  }
}
