import Base
import Subscriptions
package import Tiers

/// How sentences give a reason for an account's size: a clause for each tense.
package struct ReasonClauses: Sendable {
  /// After "because", while it applies.
  package let now: String
  /// After "because", of a past time.
  package let past: String
  /// After "until", if no time alone ends it; nil if nothing does.
  package let end: String?
  /// After "Last, on <time>,": what happened when it began.
  package let began: String
  /// After "Next,": what is awaited. A clause about the change after that completes it.
  package let next: String

  private init(
    _ now: String, past: String? = nil, end: String? = nil, began: String, next: String = ""
  ) {
    self.now = now
    self.past = past ?? now
    self.end = end
    self.began = began
    self.next = next
  }

  package init(_ reason: CapReason) {
    self =
      switch reason {
      case .neverSubscribed:
        Self(
          "no plan was ever bought", past: "no plan had been bought", end: "a plan is bought",
          began: "what had been bought no longer counted")
      case .subscribed:
        Self(
          "the current period is paid", past: "the current period was paid",
          began: "the period was found paid")
      case .contested:
        Self(
          "the current period is paid, though the bank disputes the payment",
          past: "the current period was paid, though the bank disputes the payment",
          began: "the bank disputed the payment",
          next: "the bank decides: if the payment goes back, the plan ends with it, and if not, ")
      case .trial:
        Self("a free trial runs", past: "a free trial ran", began: "a free trial began")
      case .grace:
        Self(
          "the last payment failed and the store is retrying it",
          past: "the last payment failed and the store was retrying it",
          began: "the payment for the next period failed",
          next: "the payment is tried again; if none succeeds, ")
      case .leeway:
        Self(
          "a payment is expected that has not been reported yet",
          past: "a payment was expected that has not been reported yet",
          began: "a period began, but its payment has not been reported yet",
          next: "the payment should be reported; if it is not, ")
      case .storeUnreachable:
        Self(
          "a renewal is expected and the store does not answer",
          past: "a renewal was expected and the store did not answer",
          began: "a renewal was due that could not be checked",
          next: "the store should report the renewal; if it does not, ")
      case .courtesy:
        Self(
          "it is kept without a payment", past: "it was kept without a payment",
          began: "a period began without a payment")
      case .granted:
        Self("we gave it the plan", began: "the plan that we gave your account began to count")
      case .quotaSet:
        Self("we set that size for it", end: "we change it", began: "we set your account's size")
      case .paymentFailed:
        Self(
          "the last payment failed", end: "a payment succeeds",
          began: "the time for a payment ran out")
      case .lapsed:
        Self(
          "the plan has ended", past: "the plan had ended", end: "a plan is bought",
          began: "the plan ended")
      case .grantRevoked:
        Self(
          "the plan that we gave it has ended", past: "the plan that we gave it had ended",
          end: "a plan is bought", began: "the plan that we gave your account ended")
      case .refunded:
        Self(
          "the payment was refunded", end: "a plan is bought", began: "the payment was refunded")
      case .disputed:
        Self(
          "the bank disputes the payment", end: "that is decided",
          began: "the bank disputed the payment")
      }
  }

  // MARK: reasons of which more is known

  /// Nothing was bought or the plan lapsed, as another account owns the purchase now.
  package static let transferred = Self(
    "its purchase was transferred away", end: "a plan is bought",
    began: "what had been bought no longer counted")

  /// Leeway for a period for which the store requests no payment.
  package static let unbilled = Self(
    "a period is expected that has not been reported yet",
    past: "a payment was expected that has not been reported yet",
    began: "a period began, but its payment has not been reported yet",
    next: "the store should report the period, for which no payment is asked; if it does not, ")

  /// A failed payment that no store still tries to collect.
  package static let abandoned = Self(
    "the last payment failed and the subscription has ended", past: "the last payment failed",
    end: "a plan is bought", began: "the time for a payment ran out")

  /// Lapsed, while a renewal is expected.
  package static let unreported = Self(
    "the plan has ended", past: "the plan had ended", end: "its payment is reported",
    began: "the plan ended")

  /// Refunded, while the subscription is billed again.
  package static let rebilled = Self(
    "the payment was refunded", end: "the next period is paid", began: "the payment was refunded")

  /// Refunded, but no money was returned: another person who pays for it no longer shares it.
  package static let unshared = Self(
    "the purchase is no longer shared with it", past: "the purchase was no longer shared with it",
    end: "a plan is bought", began: "the purchase was no longer shared with your account")
}

extension EntitlementExplanation {
  /// Why the account may store as much as it may now.
  package var because: String { clauses(of: current).now }

  func clauses(of boundary: Schedule.Boundary) -> ReasonClauses {
    switch boundary.reason {
    case .neverSubscribed where !lost.isEmpty, .lapsed where isLost(at: boundary.from):
      .transferred
    case .lapsed where awaitsReport(\.labelThen): .unreported
    case .leeway where isUnbilled: .unbilled
    case .paymentFailed where !awaitsPayment: .abandoned
    case .refunded where isUnshared(at: boundary.from): .unshared
    case .refunded where billedAgain != nil: .rebilled
    default: ReasonClauses(boundary.reason)
    }
  }

  /// Whether the schedule shows no plan then because the purchase is no longer the account's.
  private func isLost(at moment: Instant) -> Bool {
    !lost.isEmpty && schedule.last { $0.from <= moment }?.reason == .neverSubscribed
  }

  /// Whether a store still tries to collect for any of the subscriptions, so that a successful
  /// payment brings a plan back.
  var awaitsPayment: Bool { subscriptions.contains { $0.willRenew || $0.label == .onHold } }

  /// Whether an expected renewal has not been reported for too long.
  func awaitsReport(_ label: KeyPath<Subscription, Label>) -> Bool {
    subscriptions.contains { $0.willRenew && $0[keyPath: label] == .renewalPending }
  }

  /// Whether a subscription gives access for which its store requests no payment.
  private var isUnbilled: Bool {
    subscriptions.contains { $0.label.givesAccess && $0.isUncollected(at: now) }
  }

  /// The earliest next billing of a subscription whose payment was or may be returned.
  var billedAgain: Instant? {
    subscriptions.filter { $0.willRenew && ($0.label == .revoked || $0.label == .onHold) }
      .compactMap { $0.billed(after: now) }.min()
  }

  /// Whether the last reversal before a refund's boundary only ended the sharing of a purchase.
  private func isUnshared(at moment: Instant) -> Bool {
    let end = moment + Self.sameEvent
    return subscriptions.flatMap { $0.bill.reversals }
      .filter { $0.state == .done && $0.at <= end }
      .max { $0.at < $1.at }?.kind == .unshared
  }
}
