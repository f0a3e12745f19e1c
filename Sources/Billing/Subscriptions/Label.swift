package import Base
import Tiers

/// The state of a subscription in one word, derived from coverage and mirrors.
///
/// Every subscription has exactly one label, and `givesAccess` is true exactly while coverage
/// holds. Transitions may skip states, so none is ever refused; each is recorded with its cause.
package enum Label: String, Hashable, Sendable, CaseIterable {
  /// No access yet: the first payment is missing or not seen, or it is for something other than
  /// storage. Left by a payment, a trial or an end.
  case pending
  /// A trial runs. Left by its end, a payment or a cancellation.
  case trialing
  /// Paid, or a renewal is expected at any moment. Left by the end of the period.
  case active
  /// A payment failed and is being retried; access is kept. Left by payment or time.
  case grace
  /// A renewal is expected and was not seen, and its leeway is over; nothing reports that it
  /// failed. Left by a payment, a failure or a reported end.
  case renewalPending = "renewal_pending"
  /// A payment failed. There is no access until one succeeds.
  case onHold = "on_hold"
  /// Stopped by the provider or the customer, but not ended. Left by resuming.
  case paused
  /// Ended. Left only by a late payment.
  case expired
  /// The money was returned and access ended with it. Left by a reversal of that, or a new payment.
  case revoked
  /// Another purchase replaced it.
  case superseded

  package var givesAccess: Bool {
    switch self {
    case .trialing, .active, .grace: true
    case .pending, .renewalPending, .onHold, .paused, .expired, .revoked, .superseded: false
    }
  }

  /// The label at `now`. `withoutAccess` is the label by the mirrors while the coverage owes nothing.
  package init(_ coverage: Coverage, withoutAccess: Label, at now: Instant) {
    if let reason = coverage.entry(at: now)?.why {
      self = reason == .trial ? .trialing : reason == .grace ? .grace : .active
    } else if coverage.intervals.contains(where: { now < $0.from }) {
      self = .pending
    } else {
      switch coverage.ending(at: now)?.reason {
      case .refunded where withoutAccess != .superseded: self = .revoked
      case .disputed where withoutAccess != .superseded: self = .onHold
      case .paymentFailed where withoutAccess == .renewalPending: self = .onHold
      default: self = withoutAccess
      }
    }
  }

  /// The rank among several siblings' labels, of which the lowest is shown.
  package var precedence: Int { Self.allCases.firstIndex(of: self)! }

  /// Whether the label may change to `next` by time alone, which gives access only if a period was paid
  /// for in advance.
  package func mayBecomeByClock(_ next: Label) -> Bool {
    switch self {
    case .pending: next == .trialing || next == .active
    case .trialing, .active: next != self
    case .grace: next != self && next != .trialing
    case .renewalPending, .onHold, .paused, .expired, .revoked, .superseded: false
    }
  }
}
