/// The name of one state of a resource (RFC 9110, section 8.8.3): `"7"`, or weak `W/"7"`.
package struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  package let opaque: String
  package let isWeak: Bool

  /// A strong tag; nil if the text contains a character that no tag may have.
  package init?(_ opaque: String) { self.init(opaque: opaque, isWeak: false) }

  /// The tag of a version number.
  package init(version: Int64) {
    opaque = String(version)
    isWeak = false
  }

  /// Reads one tag as written in a field; nil for anything else.
  package init?(field text: some StringProtocol) {
    let isWeak = text.hasPrefix("W/")
    let quoted = isWeak ? text.dropFirst(2) : text[...]
    guard quoted.utf8.count >= 2, quoted.first == "\"", quoted.last == "\"" else { return nil }
    self.init(opaque: String(quoted.dropFirst().dropLast()), isWeak: isWeak)
  }

  private init?(opaque: String, isWeak: Bool) {
    guard opaque.utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }) else {
      return nil
    }
    self.opaque = opaque
    self.isWeak = isWeak
  }

  /// The text for an ETag field.
  package var field: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// Whether both are strong and equal, so that the content is the same byte for byte (RFC 9110, section 8.8.3.2).
  package func matchesStrongly(_ other: EntityTag) -> Bool {
    !isWeak && !other.isWeak && opaque == other.opaque
  }

  /// Whether both are equal, weak or strong.
  package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
}
