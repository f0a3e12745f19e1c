/// A validator of a representation's current version (RFC 9110, section 8.8.3).
package struct EntityTag: Hashable, Sendable {
  package let opaque: String
  package let isWeak: Bool

  package init(_ opaque: String, isWeak: Bool = false) {
    self.opaque = opaque
    self.isWeak = isWeak
  }

  /// As in an ETag field: `"3"` or `W/"3"`.
  package var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// What If-Match or If-None-Match lists.
  package enum Condition: Equatable, Sendable {
    case any
    case tags([EntityTag])

    /// Nil where the field is no list of entity tags.
    package init?(_ field: String) {
      var rest = Substring(field).trimmed
      if rest == "*" {
        self = .any
        return
      }
      var tags: [EntityTag] = []
      while !rest.isEmpty {
        let isWeak = rest.hasPrefix("W/")
        if isWeak { rest.removeFirst(2) }
        guard rest.popFirst() == "\"", let end = rest.firstIndex(of: "\"") else { return nil }
        tags.append(EntityTag(String(rest[..<end]), isWeak: isWeak))
        rest = rest[rest.index(after: end)...].trimmed
        if rest.isEmpty { break }
        guard rest.popFirst() == "," else { return nil }
        rest = rest.trimmed
      }
      guard !tags.isEmpty else { return nil }
      self = .tags(tags)
    }

    /// If-Match: both tags strong and equal (RFC 9110, section 8.8.3.2).
    package func matchesStrongly(_ current: EntityTag) -> Bool {
      switch self {
      case .any: true
      case .tags(let tags): !current.isWeak && tags.contains(current)
      }
    }

    /// If-None-Match: equal, weak or not.
    package func matchesWeakly(_ current: EntityTag) -> Bool {
      switch self {
      case .any: true
      case .tags(let tags): tags.contains { $0.opaque == current.opaque }
      }
    }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = self
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
