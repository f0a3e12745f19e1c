internal import Base
internal import Ledger
internal import Subscriptions
internal import Tiers

/// The sentence about what happened last.
extension EntitlementExplanation {
  /// Something that happened to the account, in a clause.
  private struct Event {
    let at: Instant
    let text: String
    /// Whether money was returned, which increases nothing.
    var isReversal = false
    /// The subscription that a payment was for.
    var paid: Subscription?
    /// Whether it can change an account's size at once.
    var isCause = true
  }

  /// The span within which a payment and the resulting change of size are one event to the payer.
  static let sameEvent = Instant.Span.minutes(5)

  var last: String {
    // For an erased account, only what came before counts, although billing learned of its end later.
    let end = min(deletionParts?.syncErased ?? now, now)
    let told = (moneyEvents + decisionEvents + lossEvents + renewalEvents).filter { $0.at <= end }
    func newest(_ events: [Event]) -> Event? {
      events.enumerated().max { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }?.element
    }
    let step = timeline.indices.dropFirst().last { timeline[$0].from <= end }
    guard let step else {
      return newest(told).map(sentence)
        ?? unread.first.map {
          "Last, a purchase was reported that is still to be read from \($0.store)."
        }
        ?? (erased == nil
          ? "Nothing has happened yet: no plan was ever bought."
          : "Nothing had happened before: no plan was ever bought.")
    }
    let (before, after) = (timeline[step - 1], timeline[step])
    // Near a step, a payment for something else says nothing about the account's size.
    let event = newest(told.filter { !isNear($0, after) || isOf($0, from: before, to: after) })
    let change =
      isSame(before, as: after)
      ? "" : ", and your account went from \(size(before)) to \(size(after))"
    guard let event, event.at + Self.sameEvent > after.from else {
      let cause = lateNews(of: after, since: before)
      return sentence(
        Event(
          at: cause?.at ?? after.from,
          text: (cause?.text ?? happened(after, since: before)) + change))
    }
    let isAnother = event.isReversal && before.capByteCount < after.capByteCount
    guard !isAnother, event.at < after.from + Self.sameEvent else { return sentence(event) }
    return sentence(Event(at: event.at, text: event.text + change))
  }

  private func isNear(_ event: Event, _ step: Schedule.Boundary) -> Bool {
    isNear(event.at, step.from)
  }

  private func isNear(_ a: Instant, _ b: Instant) -> Bool {
    b - Self.sameEvent < a && a < b + Self.sameEvent
  }

  /// The payment or reversal that caused a step, if it was reported later than it happened.
  private func lateNews(
    of step: Schedule.Boundary, since before: Schedule.Boundary
  ) -> Event? {
    func heardLater(_ events: [Event]) -> [Event] {
      events.map { Event(at: $0.at, text: "\($0.text), which we heard of on \(date(step.from))") }
    }
    let causes: [Event] =
      switch (before.reason, step.reason) {
      case (_, .refunded): heardLater(subscriptions.flatMap { reversals(of: $0, heardAt: step) })
      case (.neverSubscribed, .subscribed), (.lapsed, .subscribed), (.leeway, .subscribed),
        (.storeUnreachable, .subscribed):
        heardLater(subscriptions.flatMap { payments(of: $0, heardAt: step) })
      case (.grace, .subscribed), (.paymentFailed, .subscribed):
        subscriptions.compactMap { recovery(of: $0, heardAt: step) }
      default: []
      }
    return causes.max { $0.at < $1.at }
  }

  /// The payment that succeeded after a failure. It carries the time of the first try, so only the
  /// time of its report is shown.
  private func recovery(of subscription: Subscription, heardAt step: Schedule.Boundary) -> Event? {
    let failed: Set = [Label.grace.rawValue, Label.onHold.rawValue]
    let recovers = subscription.transitions.contains { transition in
      transition.cause == "fact" && failed.contains(transition.before)
        && transition.after == Label.active.rawValue
        && isNear(transition.noticed, step.from)
    }
    let payment = subscription.bill.payments.first { payment in
      payment.state == .paid && payment.from.map { $0 <= step.from } ?? false
        && payment.to.map { step.from < $0 } ?? false
    }
    guard recovers, let amount = payment?.amount else { return nil }
    return Event(at: step.from, text: "a payment of \(amount) was found to have come after all")
  }

  private func reversals(of subscription: Subscription, heardAt step: Schedule.Boundary) -> [Event]
  {
    let ends = subscription.transitions.filter { transition in
      transition.cause == "fact" && transition.after == Label.revoked.rawValue
        && isNear(transition.noticed, step.from)
    }
    // A dispute carries the time at which it began.
    return subscription.bill.reversals.filter { reversal in
      reversal.kind != .dispute && reversal.state == .done
        && ends.contains { isNear($0.at, reversal.at) }
    }.map { Event(at: $0.at, text: $0.clause) }
  }

  private func payments(of subscription: Subscription, heardAt step: Schedule.Boundary) -> [Event] {
    let evidence = subscription.intervals.filter { interval in
      interval.planID == step.planID && interval.why == step.reason
        && interval.from <= step.from && step.from < interval.to
        && interval.deliveries.contains { isNear($0.received, step.from) }
    }.map { Coverage.Evidence($0.evidence.kind, $0.evidence.id) }
    return subscription.bill.payments.filter {
      $0.state == .paid && $0.at < step.from && evidence.contains($0.object)
    }.map { Event(at: $0.at, text: $0.clause(subscription.store)) }
  }

  /// Whether the payment gives the plan that began then, or gave the larger plan that ended.
  private func isOf(
    _ event: Event, from before: Schedule.Boundary, to after: Schedule.Boundary
  ) -> Bool {
    guard let paid = event.paid else { return event.isCause }
    let plans = [after] + (before.capByteCount > after.capByteCount ? [before] : [])
    return paid.intervals.contains { interval in
      interval.from - Self.sameEvent < after.from && after.from < interval.to + Self.sameEvent
        && (plans.contains { $0.planID == interval.planID }
          || catalogue.plan(interval.planID)?.isAddition ?? false)
    }
  }

  /// Whether the period that is paid at a step had been paid before the previous step.
  private func isPaid(since before: Schedule.Boundary, at step: Schedule.Boundary) -> Bool {
    subscriptions.flatMap { $0.intervals }.contains { interval in
      interval.planID == step.planID && interval.why == step.reason
        && interval.from < before.from && step.from < interval.to
    }
  }

  private func sentence(_ event: Event) -> String {
    "Last, on \(date(event.at)), \(event.text)."
  }

  private var moneyEvents: [Event] {
    subscriptions.flatMap { subscription in
      subscription.bill.payments.map {
        Event(at: $0.at, text: $0.clause(subscription.store), paid: subscription)
      }
        + subscription.bill.reversals.map { Event(at: $0.at, text: $0.clause, isReversal: true) }
    }
  }

  private var decisionEvents: [Event] {
    decisions.reversed().map { decided in
      let text: String =
        switch decided.decision {
        case .grant(_, let plan, _, _, _): "we gave your account the plan \(title(plan))"
        case .ungrant: "we took back a plan that we had given"
        case .quota(_, let byteCount, _, _):
          "we set your account's size to \(ByteCount.text(byteCount))"
        case .quotaCleared: "we gave your account back the size that it is owed"
        case .claim(let owner, _):
          owner == account
            ? "a purchase was claimed for your account"
            : "a purchase of your account was claimed for another"
        case .transfer(let owner, _, _):
          owner == account
            ? "a purchase was moved to your account"
            : "a purchase was moved away from your account"
        case .accountDeleted: "your account was deleted"
        }
      return Event(at: decided.at, text: text)
    }
  }

  /// Renewals that were switched off, or on again. By itself this gives and takes nothing.
  private var renewalEvents: [Event] {
    subscriptions.flatMap { $0.transitions }.reversed().compactMap { transition in
      RenewalChange(rawValue: transition.after).map { change in
        Event(
          at: transition.at,
          text: change == .ended
            ? "the renewal of the subscription was switched off"
            : "the renewal of the subscription was switched on again", isCause: false)
      }
    }
  }

  /// Purchases lost without a decision, because a store named another owner.
  private var lossEvents: [Event] {
    lost.filter { lost in !decisions.contains { $0.sequence == lost.entry } }.map {
      Event(at: $0.at, text: "a purchase was transferred away from your account")
    }
  }

  /// The cause of a step of the account's schedule, if nothing else shows it.
  private func happened(_ step: Schedule.Boundary, since before: Schedule.Boundary) -> String {
    if before.reason == .quotaSet, step.reason != .quotaSet {
      return "the size that we had set ran out"
    }
    return replaced(by: step, before)
      ?? reason(of: step, since: before)
  }

  private func reason(of step: Schedule.Boundary, since before: Schedule.Boundary) -> String {
    switch step.reason {
    case .neverSubscribed: "what had been bought no longer counted"
    case .subscribed where before.reason == .refunded && isPaid(since: before, at: step):
      "the refund of the payment was reversed"
    case .subscribed: "the period was found paid"
    case .contested: "the bank disputed the payment"
    case .trial: "a free trial began"
    case .grace: "the payment for the next period failed"
    case .leeway: "a period began, but its payment has not been reported yet"
    case .storeUnreachable: "a renewal was due that could not be checked"
    case .courtesy: "a period began without a payment"
    case .granted: "the plan that we gave your account began to count"
    case .quotaSet: "we set your account's size"
    case .paymentFailed: "the time for a payment ran out"
    case .lapsed: "the plan ended"
    case .grantRevoked: "the plan that we gave your account ended"
    case .refunded where isUnshared(step): "the purchase was no longer shared with your account"
    case .refunded: "the payment was refunded"
    case .disputed: "the bank disputed the payment"
    }
  }

  /// For a step that no payment or end of its own plan caused: why another plan counts, or why the
  /// same plan holds more or less. Nil for every other step.
  private func replaced(
    by step: Schedule.Boundary, _ before: Schedule.Boundary
  ) -> String? {
    if before.reason == .quotaSet {
      return step.capByteCount == before.capByteCount
        ? "the plan below the size that we have set changed" : nil
    }
    if step.reason == .quotaSet { return nil }
    if step.planID == before.planID {
      guard step.capByteCount != before.capByteCount else { return nil }
      if isAddition(endingAt: step.from) { return "an addition to the plan ended" }
      if isAddition(beginningAt: step.from) { return "an addition to the plan began" }
      return "what the plan holds was changed"
    }
    guard before.reason.givesAccess, step.reason.givesAccess else { return nil }
    if step.capByteCount > before.capByteCount {
      return begins(step) ? nil : "a larger plan took the place of the smaller one"
    }
    // The earlier plan is still owed, but is the smaller one now.
    let isOwed =
      subscriptions.flatMap { $0.intervals }.contains {
        $0.planID == before.planID && $0.from <= step.from && step.from < $0.to
      } || grants.contains { $0.planID == before.planID && $0.holds(at: step.from) }
    if isOwed { return "what the plans hold was changed" }
    return before.reason == .granted
      ? "the plan that we gave your account ended" : "the larger plan ended"
  }

  /// Whether the plan of a step began then, or was reported then.
  private func begins(_ step: Schedule.Boundary) -> Bool {
    grants.contains { $0.planID == step.planID && isNear($0.from, step.from) }
      || subscriptions.flatMap { $0.intervals }.contains { interval in
        interval.planID == step.planID
          && (isNear(interval.from, step.from)
            || interval.deliveries.contains { isNear($0.received, step.from) })
      }
  }

  private func isAddition(endingAt moment: Instant) -> Bool {
    additions.contains { $0.to.map { isNear($0, moment) } ?? false }
  }

  private func isAddition(beginningAt moment: Instant) -> Bool {
    additions.contains { isNear($0.from, moment) }
  }

  /// The past and present times of plans that add to others.
  var additions: [(from: Instant, to: Instant?)] {
    let bought = subscriptions.flatMap { $0.intervals }.map {
      (planID: $0.planID, from: $0.from, to: Optional($0.to))
    }
    let given = grants.map { (planID: $0.planID, from: $0.from, to: $0.until) }
    return (bought + given).filter { catalogue.plan($0.planID)?.isAddition ?? false }
      .map { ($0.from, $0.to) }
  }
}

extension Grant {
  fileprivate func holds(at moment: Instant) -> Bool {
    from <= moment && until.map { moment < $0 } ?? true
  }
}

extension Bill.Payment {
  fileprivate func clause(_ store: String) -> String {
    let sum = amount.map { "a payment of \($0)" } ?? "a payment"
    switch state {
    case .paid:
      let isFree = amount.map { $0.amount.allSatisfy { "0.".contains($0) } } ?? false
      return isFree ? "a period began that costs nothing" : "\(sum) arrived at \(store)"
    case .open: return "\(store) asked for \(sum)"
    case .failing: return "\(store) tried to collect \(sum) and could not"
    case .void:
      return "\(sum) was called off" + (irregular.map { ", of which \($0.came) had come" } ?? "")
    }
  }
}

extension Bill.Reversal {
  fileprivate var clause: String {
    let sum = amount.map { "\($0)" } ?? "a payment"
    switch (kind, state) {
    case (.refund, .done): return "\(sum) was given back"
    case (.refund, .open): return "a refund of \(sum) was begun"
    case (.refund, .void): return "a refund of \(sum) was begun that came to nothing"
    case (.dispute, .done): return "the bank took \(sum) back"
    case (.dispute, .open): return "the bank disputed a payment of \(sum)"
    case (.dispute, .void): return "the bank disputed a payment of \(sum), which came to nothing"
    case (.revocation, .void): return "the store took the purchase back and gave it again"
    case (.revocation, _): return "the store took the purchase back"
    case (.unshared, _): return "the purchase was no longer shared with your account"
    }
  }
}
