/// The choice of when the purchases of a deleted account end.
package enum DeletionPolicy: String, Sendable, CaseIterable {
  /// Billing stops, and the purchase runs to the end of what was paid.
  case periodEnd = "period_end"
  /// The purchase ends with the erasure, if the store does not give money back for that.
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
