/// When what a deleted account pays for ends.
package enum DeletionPolicy: String, Sendable, CaseIterable {
  /// It is billed no more, and runs to the end of what was paid.
  case periodEnd = "period_end"
  /// With the erasure, where the store does not give money back for it.
  case now
}

extension Parser where Value == DeletionPolicy {
  static var deletionPolicy: Parser {
    Parser { (text) throws(ParseFailure) in
      guard let policy = DeletionPolicy(rawValue: text) else {
        throw ParseFailure("\(quoted(text)) is not period_end or now")
      }
      return policy
    }
  }
}
