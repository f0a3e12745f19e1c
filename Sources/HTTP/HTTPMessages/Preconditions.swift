/// The If-Match and If-None-Match fields of a request (RFC 9110, section 13).
///
/// Conditions on dates are ignored: no resource here has a modification date.
package struct Preconditions: Sendable, Equatable {
  /// The content of one of the two fields.
  package enum Condition: Sendable, Equatable {
    /// `*`: the resource exists.
    case exists
    case tags([EntityTag])
  }

  package enum Outcome: Sendable, Equatable {
    case holds
    case notModified
    /// Answer 412: the state is not the one that the client expected.
    case failed
  }

  package let ifMatch: Condition?
  package let ifNoneMatch: Condition?

  /// Throws 400 `malformed_precondition` if a field is neither `*` nor a list of entity tags.
  package init(_ headers: Headers) throws(Problem) {
    ifMatch = try Self.condition(headers, "if-match")
    ifNoneMatch = try Self.condition(headers, "if-none-match")
  }

  /// Checks the conditions in the order of section 13.2.2; `current` is nil if the resource does not exist.
  package func evaluate(current: EntityTag?, isSafe: Bool) -> Outcome {
    switch ifMatch {
    case .exists where current == nil: return .failed
    case .tags(let tags):
      guard let current, tags.contains(where: { $0.matchesStrongly(current) }) else {
        return .failed
      }
    case .exists, nil: break
    }
    guard let current else { return .holds }
    switch ifNoneMatch {
    case .exists: return isSafe ? .notModified : .failed
    case .tags(let tags) where tags.contains(where: { $0.matchesWeakly(current) }):
      return isSafe ? .notModified : .failed
    case .tags, nil: return .holds
    }
  }

  private static func condition(_ headers: Headers, _ name: String) throws(Problem) -> Condition? {
    guard let value = headers.combined(name) else { return nil }
    let text = String(decoding: value, as: UTF8.self)
    if text == "*" { return .exists }
    guard let tags = tags(text), !tags.isEmpty else {
      throw Problem(
        400, "malformed_precondition", "Malformed precondition",
        "The field \(name) must be * or a list of entity tags in double quotes.")
    }
    return .tags(tags)
  }

  /// Parses a list of tags from the left. It cannot be split at commas, because tags may contain them.
  private static func tags(_ text: String) -> [EntityTag]? {
    var tags: [EntityTag] = []
    var rest = text[...]
    var needsComma = false
    while true {
      rest = rest.drop { $0 == " " || $0 == "\t" }
      if rest.isEmpty { return tags }
      if rest.first == "," {
        needsComma = false
        rest = rest.dropFirst()
        continue
      }
      guard !needsComma, let open = rest.firstIndex(of: "\""),
        let end = rest[rest.index(after: open)...].firstIndex(of: "\""),
        let tag = EntityTag(field: rest[...end])
      else { return nil }
      tags.append(tag)
      needsComma = true
      rest = rest[rest.index(after: end)...]
    }
  }
}
