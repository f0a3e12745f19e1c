/// The answers to stores that ask before they give a customer's money back.
package enum RefundAnswers: String, Sendable, CaseIterable {
  /// No answer, whatever customers agreed to.
  case off
  /// The usage, and no opinion.
  case usage
  /// The usage, and the opinion that the money should stay, should go back, or should go back for
  /// the time left.
  case decline, grant, prorate
}

extension Parser where Value == RefundAnswers {
  static var refundAnswers: Parser {
    Parser { (text) throws(ParseFailure) in
      guard let answers = RefundAnswers(rawValue: text) else {
        throw ParseFailure("\(quoted(text)) is not off, usage, decline, grant or prorate")
      }
      return answers
    }
  }
}
