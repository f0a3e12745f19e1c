import Base
import Ledger
import Subscriptions
import Tiers

/// The sentence about what happened last.
extension EntitlementExplanation {
  /// Something that happened to the account, in a clause.
  private struct Event {
    let at: Instant
    let text: String
    var kind = Kind.other

    enum Kind {
      case payment(Bill.Payment, Subscription)
      /// Money was returned, which increases nothing.
      case reversal(Bill.Reversal, Subscription)
      /// A renewal was switched off or on, which by itself gives and takes nothing.
      case renewal
      case other
    }
  }

  /// The span within which a payment and the resulting change of size are one event to the payer.
  static let sameEvent = Instant.Span.minutes(5)

  var last: String {
    // For an erased account, only what came before counts, although billing learned of its end later.
    let end = min(deletionParts?.syncErased ?? now, now)
    let told = events.filter { $0.at <= end }
    func newest(_ events: [Event]) -> Event? {
      events.enumerated().max { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }?.element
    }
    func sentence(_ event: Event, _ change: String = "") -> String {
      "Last, on \(date(event.at)), \(event.text)\(change)."
    }
    let steps = timeline
    guard let step = steps.indices.dropFirst().last(where: { steps[$0].from <= end }) else {
      return newest(told).map { sentence($0) }
        ?? unread.first.map {
          "Last, a purchase was reported that is still to be read from \($0.store)."
        } ?? "Nothing \(erased == nil ? "has happened yet" : "had happened before"): "
        + "no plan was ever bought."
    }
    let (before, after) = (steps[step - 1], steps[step])
    // Near a step, a payment for something else says nothing about the account's size.
    let event = newest(
      told.filter { !isNear($0.at, after.from) || mayCause($0, from: before, to: after) })
    let change =
      isSame(before, as: after)
      ? "" : ", and your account went from \(size(before)) to \(size(after))"
    guard let event, event.at + Self.sameEvent > after.from else {
      let late = told.filter { isHeard($0, with: after, since: before) }.max { $0.at < $1.at }
      if let late {
        return sentence(late, ", which we heard of on \(date(after.from))" + change)
      }
      let text = recovery(at: after, since: before) ?? happened(after, since: before)
      return sentence(Event(at: after.from, text: text), change)
    }
    var isAnother = event.at >= after.from + Self.sameEvent
    if case .reversal = event.kind, before.capByteCount < after.capByteCount { isAnother = true }
    return sentence(event, isAnother ? "" : change)
  }

  private func isNear(_ a: Instant, _ b: Instant) -> Bool {
    b - Self.sameEvent < a && a < b + Self.sameEvent
  }

  private var events: [Event] {
    let money = subscriptions.flatMap { one in
      one.bill.payments.map {
        Event(at: $0.at, text: $0.clause(one.store), kind: .payment($0, one))
      } + one.bill.reversals.map { Event(at: $0.at, text: $0.clause, kind: .reversal($0, one)) }
    }
    let decided = decisions.reversed().map { Event(at: $0.at, text: clause($0.decision)) }
    // Without a decision, a store named another owner.
    let losses = lost.filter { lost in !decisions.contains { $0.sequence == lost.entry } }.map {
      Event(at: $0.at, text: "a purchase was transferred away from your account")
    }
    let renewals = subscriptions.flatMap { $0.transitions }.reversed().compactMap { transition in
      RenewalChange(rawValue: transition.after).map {
        Event(at: transition.at, text: $0.clause, kind: .renewal)
      }
    }
    return money + decided + losses + renewals
  }

  /// Whether an event near a step can be its cause. A payment is if it gives the plan that began
  /// then, or gave the larger plan that ended.
  private func mayCause(
    _ event: Event, from before: Schedule.Boundary, to after: Schedule.Boundary
  ) -> Bool {
    switch event.kind {
    case .reversal, .other: true
    case .renewal: false
    case .payment(_, let subscription):
      subscription.intervals.contains { interval in
        interval.from - Self.sameEvent < after.from && after.from < interval.to + Self.sameEvent
          && (interval.planID == after.planID || catalogue.isAddition(interval.planID)
            || interval.planID == before.planID && before.capByteCount > after.capByteCount)
      }
    }
  }

  // MARK: causes that no event near the step shows

  /// Whether an event caused a step because it was reported then, later than it happened.
  private func isHeard(
    _ event: Event, with step: Schedule.Boundary, since before: Schedule.Boundary
  ) -> Bool {
    switch (event.kind, step.reason) {
    case (.reversal(let reversal, let subscription), .refunded):
      // A dispute carries the time at which it began.
      reversal.kind != .dispute && reversal.state == .done
        && reports(on: subscription, at: step.from).contains {
          $0.after == Label.revoked.rawValue && isNear($0.at, reversal.at)
        }
    case (.payment(let payment, let subscription), .subscribed):
      [.neverSubscribed, .lapsed, .leeway, .storeUnreachable].contains(before.reason)
        && payment.state == .paid && payment.at < step.from
        && subscription.intervals.contains { interval in
          interval.planID == step.planID && interval.why == step.reason
            && interval.contains(step.from) && interval.isShown(by: payment)
            && interval.deliveries.contains { isNear($0.received, step.from) }
        }
    default: false
    }
  }

  /// The payment that succeeded after a failure. It carries the time of the first try, so only the
  /// time of its report is shown.
  private func recovery(
    at step: Schedule.Boundary, since before: Schedule.Boundary
  ) -> String? {
    guard step.reason == .subscribed, [.grace, .paymentFailed].contains(before.reason) else {
      return nil
    }
    let recovered = subscriptions.filter { subscription in
      reports(on: subscription, at: step.from).contains {
        [Label.grace.rawValue, Label.onHold.rawValue].contains($0.before)
          && $0.after == Label.active.rawValue
      }
    }
    return recovered.compactMap { subscription in
      subscription.bill.payments.first { $0.state == .paid && $0.covers(step.from) }?.amount
    }.first.map { "a payment of \($0) was found to have come after all" }
  }

  /// The changes of a subscription's label by reports that came then.
  private func reports(on subscription: Subscription, at moment: Instant) -> [Transition] {
    subscription.transitions.filter { $0.cause == "fact" && isNear($0.noticed, moment) }
  }

  /// The cause of a step, if no event shows it: why another plan counts, why the same plan holds
  /// more or less, or what its reason says.
  private func happened(_ step: Schedule.Boundary, since before: Schedule.Boundary) -> String {
    let began = clauses(of: step).began
    let isSameSize = step.capByteCount == before.capByteCount
    if step.reason == .quotaSet {
      return before.reason == .quotaSet && isSameSize
        ? "the plan below the size that we have set changed" : began
    }
    if before.reason == .quotaSet { return "the size that we had set ran out" }
    if before.reason == .refunded, isPaid(since: before, at: step) {
      return "the refund of the payment was reversed"
    }
    if step.planID == before.planID {
      if isSameSize { return began }
      if additions.contains(where: { isNear($0.to, step.from) }) {
        return "an addition to the plan ended"
      }
      return additions.contains { isNear($0.from, step.from) }
        ? "an addition to the plan began" : "what the plan holds was changed"
    }
    guard before.reason.givesAccess, step.reason.givesAccess else { return began }
    if step.capByteCount > before.capByteCount {
      return begins(step) ? began : "a larger plan took the place of the smaller one"
    }
    // The earlier plan is still owed, but is the smaller one now.
    let isOwed = owed.contains {
      $0.planID == before.planID && $0.from <= step.from && step.from < $0.to
    }
    if isOwed { return "what the plans hold was changed" }
    return before.reason == .granted
      ? ReasonClauses(.grantRevoked).began : "the larger plan ended"
  }

  /// Whether the period that is paid at a step had been paid before the previous step.
  private func isPaid(since before: Schedule.Boundary, at step: Schedule.Boundary) -> Bool {
    step.reason == .subscribed
      && intervals.contains {
        $0.planID == step.planID && $0.why == step.reason && $0.from < before.from
          && step.from < $0.to
      }
  }

  /// Whether the plan of a step began then, or was reported then.
  private func begins(_ step: Schedule.Boundary) -> Bool {
    owed.contains { $0.planID == step.planID && isNear($0.from, step.from) }
      || intervals.contains { interval in
        interval.planID == step.planID
          && interval.deliveries.contains { isNear($0.received, step.from) }
      }
  }

  private var intervals: [Interval] { subscriptions.flatMap { $0.intervals } }

  /// The times for which plans were or are owed, whether bought or given.
  private var owed: [(planID: String, from: Instant, to: Instant)] {
    intervals.map { ($0.planID, $0.from, $0.to) }
      + grants.map { ($0.planID, $0.from, $0.until ?? .distantFuture) }
  }

  /// The same for plans that add to others.
  var additions: [(planID: String, from: Instant, to: Instant)] {
    owed.filter { catalogue.isAddition($0.planID) }
  }
}

extension EntitlementExplanation.Interval {
  /// Whether the payment is what proves it.
  fileprivate func isShown(by payment: Bill.Payment) -> Bool {
    payment.object == Coverage.Evidence(evidence.kind, evidence.id)
  }
}
