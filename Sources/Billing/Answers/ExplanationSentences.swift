internal import Base
internal import Ledger
internal import Subscriptions
package import Tiers

/// Text that support staff could send to the customer unchanged.
extension EntitlementExplanation {
  /// Three sentences: what applies now, what happened last, what happens next. For a past moment:
  /// what applied then, what is known of it today, and what came after. `usedByteCount` is the size
  /// of the account's storage now.
  package func sentences(usedByteCount: Int64) -> [String] {
    if let erased, erased <= moment {
      let gone = "The account was erased on \(date(erased)): nothing of it is stored any more."
      return [gone, last, Self.nothingComes]
    }
    if moment < now, let heldThen { return past(heldThen) }
    if moment > now { return [future, last, next] }
    return [present(usedByteCount), last, next]
  }

  // MARK: what holds

  private func present(_ usedByteCount: Int64) -> String {
    var text = "Your account may store \(size(current)) because "
    text +=
      paused.map { "its subscription is paused, until \(resumption(of: $0))" }
      ?? "\(because(current)), \(until(current, after: now))"
    if usedByteCount > current.capByteCount {
      text += "; it holds \(ByteCount.text(usedByteCount)), so nothing can be added until it "
      text += "holds less, and nothing is deleted"
    }
    if let paidTwice {
      let prices = [paidTwice.kept.price] + paidTwice.surplus.map(\.price)
      text += "; it is paid for \(prices.count == 2 ? "twice" : "\(prices.count) times"), "
      text += "\(prices.joined(separator: " and ")), of which the first counts"
    }
    return text + (refusedWrites.map { "; \($0)" } ?? "") + "."
  }

  /// Why nothing may be written, regardless of payments.
  private var refusedWrites: String? {
    if let leaving {
      let end =
        erases.map { "it is erased from \(date($0)) on" } ?? "it is erased once it is exported"
      return "nothing can be written any more, as its deletion was requested on \(date(leaving)): "
        + end
    }
    return suspended.map { "nothing can be written now, as it was suspended on \(date($0))" }
  }

  /// The subscription whose plan returns when its pause ends; nil if there is none.
  var paused: Subscription? {
    switch current.reason {
    case .lapsed, .paymentFailed, .neverSubscribed, .grantRevoked:
      subscriptions.first { $0.label == .paused }
    case .subscribed, .contested, .trial, .grace, .leeway, .storeUnreachable, .courtesy, .granted,
      .quotaSet, .refunded, .disputed:
      nil
    }
  }

  private func resumption(of paused: Subscription) -> String {
    guard let end = paused.pause?.until, end > now else { return "it is resumed" }
    return "\(paused.store) resumes it on \(date(end))"
  }

  private var future: String {
    if isErasedThen { return "If nothing changes, the account is erased by then." }
    return "If nothing changes, your account may store \(size(owedThen)) on \(date(moment)) "
      + "because \(because(owedThen)), \(until(owedThen, after: moment))."
  }

  private func until(_ boundary: Schedule.Boundary, after moment: Instant) -> String {
    let next = remaining.first { next in
      next.from > moment && !(boundary.reason == .quotaSet && isSame(boundary, as: next))
    }
    if let next { return "until \(date(next.from))" }
    switch boundary.reason {
    case .paymentFailed where awaitsPayment: return "until a payment succeeds"
    case .disputed: return "until that is decided"
    case .quotaSet: return "until we change it"
    case .refunded where billedAgain != nil: return "until the next period is paid"
    case .lapsed where awaitsReport(\.labelThen): return "until its payment is reported"
    case .neverSubscribed, .paymentFailed, .lapsed, .grantRevoked, .refunded:
      return "until a plan is bought"
    case .subscribed, .contested, .trial, .grace, .leeway, .storeUnreachable, .courtesy, .granted:
      return "without an end"
    }
  }

  private func past(_ held: Schedule.Boundary) -> [String] {
    let owed = owedThen
    var known = "What is known today says the same."
    let agrees =
      (held.capByteCount, held.planID, held.reason) == (owed.capByteCount, owed.planID, owed.reason)
    if !agrees, let store = storeWithoutPast(owed) {
      known = "\(store) reports the purchase's present state, and no longer its state at that time."
    } else if !agrees {
      known = "As known today, it was entitled to \(size(owed)) then, because "
      known += because(owed, isPast: true)
      known += noticedLater.map { ", which was not known before \(date($0))." } ?? "."
    }
    let next = timeline.first { $0.from > moment && $0.from <= now && !isSame(held, as: $0) }
    return [
      "On \(date(moment)) your account could store \(size(held)) because "
        + "\(because(held, isPast: true)).", known,
      next.map { "That size held until \(date($0.from)), and then it was \(size($0))." }
        ?? "That size holds to this day.",
    ]
  }

  /// The store whose present state alone shows what was owed then, and which reported otherwise at that time.
  private func storeWithoutPast(_ owed: Schedule.Boundary) -> String? {
    subscriptions.first { subscription in
      !subscription.tellsPeriods
        && subscription.transitions.contains { $0.noticed <= moment }
        && subscription.intervals.contains { interval in
          interval.planID == owed.planID && interval.why == owed.reason
            && interval.from <= moment && moment < interval.to
        } && !isPaid(subscription, at: moment)
    }?.store
  }

  /// Whether a payment covers that time and was not returned.
  private func isPaid(_ subscription: Subscription, at moment: Instant) -> Bool {
    let bill = subscription.bill
    return bill.payments.contains { payment in
      payment.state == .paid && payment.from.map { $0 <= moment } ?? false
        && payment.to.map { moment < $0 } ?? false
        && !bill.reversals.contains { $0.payment == payment.object && $0.state == .done }
    }
  }

  /// The earliest time after `moment` at which something was noticed that had happened by `moment`.
  private var noticedLater: Instant? {
    subscriptions.flatMap { $0.transitions }.filter { $0.at <= moment }.map(\.noticed)
      .filter { $0 > moment }.min()
  }

  // MARK: words

  /// A size that was set is the same, whatever plan is below it.
  func isSame(_ a: Schedule.Boundary, as b: Schedule.Boundary) -> Bool {
    a.capByteCount == b.capByteCount
      && (a.planID == b.planID || a.reason == .quotaSet && b.reason == .quotaSet)
  }

  func size(_ boundary: Schedule.Boundary) -> String {
    "\(ByteCount.text(boundary.capByteCount)) (plan \(title(boundary.planID)))"
  }

  func title(_ planID: String) -> String { catalogue.plan(planID)?.title ?? planID }

  /// To the minute: `2026-04-02 10:00 UTC`.
  func date(_ moment: Instant) -> String {
    let text = moment.description
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
  }

  private func because(_ boundary: Schedule.Boundary, isPast: Bool = false) -> String {
    let be = isPast ? "was" : "is"
    return switch boundary.reason {
    case .neverSubscribed where !lost.isEmpty, .lapsed where isLost(at: boundary.from):
      "its purchase was transferred away"
    case .neverSubscribed: isPast ? "no plan had been bought" : "no plan was ever bought"
    case .subscribed: "the current period \(be) paid"
    case .contested: "the current period \(be) paid, though the bank disputes the payment"
    case .trial: isPast ? "a free trial ran" : "a free trial runs"
    case .grace: "the last payment failed and the store \(be) retrying it"
    case .leeway where !isPast && asksForNothing:
      "a period is expected that has not been reported yet"
    case .leeway: "a payment \(be) expected that has not been reported yet"
    case .storeUnreachable:
      "a renewal \(be) expected and the store \(isPast ? "did" : "does") not answer"
    case .courtesy: "it \(be) kept without a payment"
    case .granted: "we gave it the plan"
    case .quotaSet: "we set that size for it"
    case .paymentFailed where isPast || awaitsPayment: "the last payment failed"
    case .paymentFailed: "the last payment failed and the subscription has ended"
    case .lapsed: "the plan \(isPast ? "had ended" : "has ended")"
    case .grantRevoked: "the plan that we gave it \(isPast ? "had ended" : "has ended")"
    case .refunded where isUnshared(boundary):
      "the purchase \(be) no longer shared with it"
    case .refunded: "the payment was refunded"
    case .disputed: "the bank disputes the payment"
    }
  }

  /// Whether the schedule shows no plan then because the purchase is no longer the account's.
  private func isLost(at moment: Instant) -> Bool {
    !lost.isEmpty && schedule.last { $0.from <= moment }?.reason == .neverSubscribed
  }

  /// Whether no money was returned: another person who pays for it no longer shares it with the account.
  package func isUnshared(_ boundary: Schedule.Boundary) -> Bool {
    guard boundary.reason == .refunded else { return false }
    return subscriptions.flatMap { $0.bill.reversals }
      .filter { $0.state == .done && $0.at <= boundary.from + Self.sameEvent }
      .max { $0.at < $1.at }?.kind == .unshared
  }
}
