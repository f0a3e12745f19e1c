package import JSON

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

/// The cancellation of a subscription that Stripe shows.
extension JSON {
  /// Whether it ends on a date, and not with its period.
  package var isCancelledByDate: Bool {
    self["cancel_at"].integer != nil && self["cancel_at_period_end"].bool != true
  }

  /// Whether it ends with its period or before. One that is cancelled by a later date renews until then.
  package var endsWithPeriod: Bool {
    if self["cancel_at_period_end"].bool == true { return true }
    guard let date = self["cancel_at"].integer else { return false }
    let ends = (self["items"]["data"].array ?? []).compactMap { $0["current_period_end"].integer }
    return ends.max().map { $0 >= date } ?? true
  }
}
