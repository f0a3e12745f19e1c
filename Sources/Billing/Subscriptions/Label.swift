package import Base
internal import Tiers

/// The state of a subscription in one word, derived from coverage and mirrors.
///
/// Total and exclusive, and `givesAccess` exactly where coverage holds. Transitions may skip
/// states, so none is ever refused; each is recorded with its cause.
package enum Label: String, Hashable, Sendable, CaseIterable {
  /// Nothing owed yet: the first payment is missing or not seen, or it is for nothing that is storage.
  /// Left by payment, trial or end.
  case pending
  /// A trial runs. Left by its end, a payment or a cancel.
  case trialing
  /// Paid, or a renewal expected any moment. Left by the end of the period.
  case active
  /// A payment failed and is being retried; access is kept. Left by payment or time.
  case grace
  /// A renewal is expected and was not seen, and the leeway for it is over: nothing says that it
  /// failed. Left by a payment, a failure or an end that is told.
  case renewalPending = "renewal_pending"
  /// A payment failed: no access until one comes.
  case onHold = "on_hold"
  /// Stopped by the provider or the customer without an end. Left by resuming.
  case paused
  /// Over. Left only by money that comes late.
  case expired
  /// The money went back, and access with it. Left by a reversal of that or a new payment.
  case revoked
  /// Another purchase took its place.
  case superseded

  package var givesAccess: Bool {
    switch self {
    case .trialing, .active, .grace: true
    case .pending, .renewalPending, .onHold, .paused, .expired, .revoked, .superseded: false
    }
  }

  /// The label at `now`; `withoutAccess` is what the mirrors say where the coverage owes nothing.
  package init(_ coverage: Coverage, withoutAccess: Label, at now: Instant) {
    if let interval = coverage.entry(at: now) {
      self.init(accessBecauseOf: interval.why)
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

  init(accessBecauseOf reason: CapReason) {
    switch reason {
    case .trial: self = .trialing
    case .grace: self = .grace
    case .subscribed, .contested, .leeway, .storeUnreachable, .courtesy, .granted, .neverSubscribed,
      .quotaSet, .paymentFailed, .lapsed, .grantRevoked, .refunded, .disputed:
      self = .active
    }
  }

  /// Which of several siblings' labels is told: the lower.
  package var precedence: Int { Self.allCases.firstIndex(of: self)! }

  /// Whether time alone may lead from here to `next`.
  ///
  /// Access rises by the clock only where a period was paid for in advance.
  package func mayBecomeByClock(_ next: Label) -> Bool {
    switch self {
    case .pending: next == .trialing || next == .active
    case .trialing, .active: next != self
    case .grace: next != self && next != .trialing
    case .renewalPending, .onHold, .paused, .expired, .revoked, .superseded: false
    }
  }
}
