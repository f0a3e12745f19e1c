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
