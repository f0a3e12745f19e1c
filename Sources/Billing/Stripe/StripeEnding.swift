/// How a subscription stops renewing, by its status, for operators' orders and accounts' wishes alike.
package enum StripeEnding: Sendable {
  /// With the period that is paid for.
  case withPeriod
  /// Nothing is paid for: until the flag's period ended, Stripe would go on trying to collect what is owed.
  case atOnce
  /// It has ended, or began never.
  case over

  /// A status of later versions ends with its period: ending at once might take what was paid for.
  /// https://docs.stripe.com/billing/subscriptions/cancel
  package init(status: String?) {
    switch status {
    case "past_due", "unpaid", "paused", "incomplete": self = .atOnce
    case "canceled", "incomplete_expired": self = .over
    default: self = .withPeriod
    }
  }
}
