/// How a subscription stops renewing, by its status. The same for operators' orders and accounts' requests.
package enum StripeEnding: Sendable {
  /// At the end of the paid period.
  case withPeriod
  /// At once, because no period is paid for. Until the end of the period, Stripe would continue to
  /// collect what is owed.
  case atOnce
  /// It has ended already, or never began.
  case over

  /// A status of later versions ends with its period, because ending at once might take away paid
  /// time. https://docs.stripe.com/billing/subscriptions/cancel
  package init(status: String?) {
    switch status {
    case "past_due", "unpaid", "paused", "incomplete": self = .atOnce
    case "canceled", "incomplete_expired": self = .over
    default: self = .withPeriod
    }
  }
}
