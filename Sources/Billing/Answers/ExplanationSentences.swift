import Base
import Subscriptions
import Tiers

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
    return [moment > now ? future : present(usedByteCount), last, next]
  }

  // MARK: what applies

  private func present(_ usedByteCount: Int64) -> String {
    var text = "Your account may store \(size(current)) because "
    text +=
      paused.map { "its subscription is paused, until \(resumption(of: $0))" }
      ?? "\(because), \(until(current, after: now))"
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
    let isWithout = [.lapsed, .paymentFailed, .neverSubscribed, .grantRevoked]
      .contains(current.reason)
    return isWithout ? subscriptions.first { $0.label == .paused } : nil
  }

  private func resumption(of paused: Subscription) -> String {
    guard let end = paused.pause?.until, end > now else { return "it is resumed" }
    return "\(paused.store) resumes it on \(date(end))"
  }

  private var future: String {
    if isErasedThen { return "If nothing changes, the account is erased by then." }
    return "If nothing changes, your account may store \(size(owedThen)) on \(date(moment)) "
      + "because \(clauses(of: owedThen).now), \(until(owedThen, after: moment))."
  }

  private func until(_ boundary: Schedule.Boundary, after moment: Instant) -> String {
    let next = remaining.first { next in
      next.from > moment && !(boundary.reason == .quotaSet && isSame(boundary, as: next))
    }
    let end = next.map { date($0.from) } ?? clauses(of: boundary).end
    return end.map { "until \($0)" } ?? "without an end"
  }

  // MARK: what applied

  private func past(_ held: Schedule.Boundary) -> [String] {
    let next = timeline.first { $0.from > moment && $0.from <= now && !isSame(held, as: $0) }
    return [
      "On \(date(moment)) your account could store \(size(held)) because "
        + "\(clauses(of: held).past).",
      known(of: held),
      next.map { "That size held until \(date($0.from)), and then it was \(size($0))." }
        ?? "That size holds to this day.",
    ]
  }

  /// What is known today of the time at which `held` applied.
  private func known(of held: Schedule.Boundary) -> String {
    let owed = owedThen
    if held.holdsAs(owed) { return "What is known today says the same." }
    if let store = storeWithoutPast(owed) {
      return "\(store) reports the purchase's present state, and no longer its state at that time."
    }
    return
      "As known today, it was entitled to \(size(owed)) then, because \(clauses(of: owed).past)"
      + (noticedLater.map { ", which was not known before \(date($0))." } ?? ".")
  }

  /// The store whose present state alone shows what was owed then, and which reported otherwise at that time.
  private func storeWithoutPast(_ owed: Schedule.Boundary) -> String? {
    subscriptions.first { subscription in
      !subscription.tellsPeriods
        && subscription.transitions.contains { $0.noticed <= moment }
        && subscription.intervals.contains {
          $0.planID == owed.planID && $0.why == owed.reason && $0.contains(moment)
        } && !isPaid(subscription.bill, at: moment)
    }?.store
  }

  /// Whether a payment covers that time and was not returned.
  private func isPaid(_ bill: Bill, at moment: Instant) -> Bool {
    bill.payments.contains { payment in
      payment.state == .paid && payment.covers(moment)
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
}
