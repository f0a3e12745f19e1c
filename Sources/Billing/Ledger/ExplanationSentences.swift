internal import Base
internal import ProviderAPI
internal import Subscriptions
internal import Tiers

/// What a person of support could send to the customer as it is.
extension EntitlementExplanation {
  /// Three: what holds, what happened last, what happens next; of a moment in the past what held
  /// then, what is known of it today, and what came after. `usedByteCount` is what the account's
  /// storage holds now.
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
      isPaused
      ? "its subscription is paused, until it is resumed"
      : "\(because(current)), \(until(current, after: now))"
    if usedByteCount > current.capByteCount {
      text += "; it holds \(ByteCount.text(usedByteCount)), so that nothing can be added until it "
      text += "holds less, and nothing is deleted"
    }
    return text + (refusedWrites.map { "; \($0)" } ?? "") + "."
  }

  /// Why nothing may be written, whatever is paid.
  private var refusedWrites: String? {
    if let leaving {
      let end =
        erases.map { "it is erased from \(date($0)) on" } ?? "it is erased once it is exported"
      return "nothing can be written any more, as its end was asked for on \(date(leaving)): \(end)"
    }
    return suspended.map { "nothing can be written now, as it was suspended on \(date($0))" }
  }

  /// Whether nothing is missing but the end of a pause.
  private var isPaused: Bool {
    !current.reason.givesAccess && subscriptions.contains { $0.label == .paused }
  }

  private var future: String {
    if isErasedThen { return "If nothing more comes, the account is erased by then." }
    return "If nothing more comes, your account may store \(size(owedThen)) on \(date(moment)) "
      + "because \(because(owedThen)), \(until(owedThen, after: moment))."
  }

  private func until(_ boundary: Schedule.Boundary, after moment: Instant) -> String {
    if let next = remaining.first(where: { $0.from > moment }) { return "until \(date(next.from))" }
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
    let isSame =
      (held.capByteCount, held.planID, held.reason) == (owed.capByteCount, owed.planID, owed.reason)
    var known = "What is known today says the same."
    if !isSame {
      known = "By what is known today it was owed \(size(owed)) then, because "
      known += because(owed, isPast: true)
      known += noticedLater.map { ", which was not known before \(date($0))." } ?? "."
    }
    let next = timeline.first { $0.from > moment && $0.from <= now && !isSize(held, of: $0) }
    return [
      "On \(date(moment)) your account could store \(size(held)) because "
        + "\(because(held, isPast: true)).", known,
      next.map { "That size held until \(date($0.from)), and then it was \(size($0))." }
        ?? "That size holds to this day.",
    ]
  }

  /// When the first news came of what had come true by `moment`.
  private var noticedLater: Instant? {
    subscriptions.flatMap { $0.transitions }.filter { $0.at <= moment }.compactMap { $0.noticed }
      .filter { $0 > moment }.min()
  }

  // MARK: what happened last

  /// Something that happened to the account, in a clause.
  private struct Event {
    let at: Instant
    let text: String
    /// Whether money went back: nothing became more by it.
    var isReversal = false
    /// What a payment was for.
    var paid: Subscription?
  }

  /// A payment and what the account may store because of it are one event to whoever paid.
  private static let sameEvent = Instant.Span.minutes(5)

  private var last: String {
    let told = (moneyEvents + decisionEvents + lossEvents).filter { $0.at <= now }
    func newest(_ events: [Event]) -> Event? {
      events.enumerated().max { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }?.element
    }
    let step = timeline.indices.dropFirst().last { timeline[$0].from <= now }
    guard let step else {
      return newest(told).map(sentence) ?? "Nothing has happened yet: no plan was ever bought."
    }
    let (before, after) = (timeline[step - 1], timeline[step])
    // Beside a step what was paid for something else is no news of the account's size.
    let event = newest(told.filter { !isNear($0, after) || isOf($0, from: before, to: after) })
    let change =
      isSize(before, of: after)
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

  /// The money that a step came of where it was heard of later than it went or came.
  private func lateNews(
    of step: Schedule.Boundary, since before: Schedule.Boundary
  ) -> Event? {
    let causes: [Event] =
      switch (before.reason, step.reason) {
      case (_, .refunded): subscriptions.flatMap { reversals(of: $0, heardAt: step) }
      // What is paid at last after a failure, or again, bears the time of the first try.
      case (.neverSubscribed, .subscribed), (.lapsed, .subscribed), (.leeway, .subscribed),
        (.storeUnreachable, .subscribed):
        subscriptions.flatMap { payments(of: $0, heardAt: step) }
      default: []
      }
    return causes.max { $0.at < $1.at }.map {
      Event(at: $0.at, text: "\($0.text), which we heard of on \(date(step.from))")
    }
  }

  private func reversals(of subscription: Subscription, heardAt step: Schedule.Boundary) -> [Event]
  {
    let ends = subscription.transitions.filter { transition in
      transition.cause == "fact" && transition.after == Label.revoked.rawValue
        && transition.noticed.map { isNear($0, step.from) } ?? false
    }
    // A dispute bears the time at which it began.
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

  /// Whether what was paid gives the plan that came about then, or gave the larger one that went.
  private func isOf(
    _ event: Event, from before: Schedule.Boundary, to after: Schedule.Boundary
  ) -> Bool {
    guard let paid = event.paid else { return true }
    let plans = [after] + (before.capByteCount > after.capByteCount ? [before] : [])
    return paid.intervals.contains { interval in
      interval.from - Self.sameEvent < after.from && after.from < interval.to + Self.sameEvent
        && (plans.contains { $0.planID == interval.planID }
          || catalogue.plan(interval.planID)?.isAddition ?? false)
    }
  }

  /// Whether what is paid at a step had been paid before the one that went ahead of it.
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

  /// Purchases that went without a decision, as a store named another owner.
  private var lossEvents: [Event] {
    lost.filter { lost in !decisions.contains { $0.sequence == lost.entry } }.map {
      Event(at: $0.at, text: "a purchase went from your account")
    }
  }

  // MARK: what happens next

  private static let nothingComes = "Nothing changes by itself from here on."

  private var next: String {
    if leaving != nil { return end }
    if let waiting = subscriptions.first(where: { $0.openReads.contains { $0.isFailing } }),
      let read = waiting.openReads.first(where: { $0.isFailing }), let since = read.unansweredSince
    {
      let store = waiting.store.capitalizedFirst
      return
        (read.cause ?? .silence == .silence
        ? "Next, \(store) has to answer, which it has not since \(date(since)); "
          + "until it does, nothing is taken away"
        : "Next, the purchase has to be read from \(store), which has failed since \(date(since)); "
          + "until that is done, nothing is taken away")
        + (read.carriedOnUntil.map { ", at the latest until \(date($0))." } ?? ".")
    }
    guard let step = remaining.first(where: { $0.from > now && !isSize(current, of: $0) }) else {
      if isPaused { return "Next, the subscription has to be resumed." }
      guard current.reason == .paymentFailed else { return billing }
      return "Next, a \(awaitsPayment ? "payment has to succeed" : "plan has to be bought"); "
        + "until then nothing changes by itself."
    }
    if step.reason.givesAccess, step.capByteCount > current.capByteCount {
      return "Next, from \(date(step.from)) on your account may store \(size(step))."
    }
    let then = "your account may store \(size(step)) from \(date(step.from)) on"
    switch current.reason {
    case .grace: return "Next, the payment is tried again; if none succeeds, \(then)."
    case .leeway, .storeUnreachable:
      return "Next, the payment should be reported; if it is not, \(then)."
    case .contested:
      return "Next, the bank decides: if the payment goes back, the plan ends with it, and if not, "
        + continuing(then, step) + "."
    default: break
    }
    return "Next, \(continuing(then, step))."
  }

  /// What comes of an account whose end was asked for.
  private var end: String {
    let unless = "unless its end is called off before"
    guard let erases else {
      return "Next, the account has to be exported, and is erased after that, \(unless)."
    }
    return erases > now
      ? "Next, the account is erased on \(date(erases)), \(unless)."
      : "Next, the account is erased, which has been due since \(date(erases))."
  }

  /// What is billed next where time alone changes no size.
  private var billing: String {
    if let billedAgain {
      return "Next, the subscription is billed again on \(date(billedAgain)), which brings the "
        + "plan back; cancelling ends that."
    }
    if awaitsReport(\.label) {
      return "Next, the payment for the next period has to be reported; "
        + "until then nothing changes by itself."
    }
    let renewal = subscriptions.filter { $0.willRenew }.compactMap {
      $0.paidUntil(from: now) ?? $0.billed(after: now)
    }.min()
    return renewal.map {
      "Next, the subscription renews on \(date($0)), which changes nothing of what your account "
        + "may store."
    } ?? Self.nothingComes
  }

  /// When the first subscription is billed again whose money went back, or may.
  private var billedAgain: Instant? {
    subscriptions.filter { $0.willRenew && ($0.label == .revoked || $0.label == .onHold) }
      .compactMap { $0.billed(after: now) }.min()
  }

  /// Whether a renewal is expected of which nobody has told for too long.
  private func awaitsReport(_ label: KeyPath<Subscription, Label>) -> Bool {
    subscriptions.contains { $0.willRenew && $0[keyPath: label] == .renewalPending }
  }

  /// What comes of a period that ends as it was bought; `then` is what `step` brings without another
  /// payment.
  private func continuing(_ then: String, _ step: Schedule.Boundary) -> String {
    renewal(before: step).map {
      "the subscription renews on \(date($0)); if no payment comes, \(then)"
    } ?? "\(then), unless something is bought before"
  }

  /// When the first subscription renews that gives nothing any more at `step` unless it does.
  private func renewal(before step: Schedule.Boundary) -> Instant? {
    subscriptions.filter { subscription in
      let end = subscription.owedUntil(from: now)
      return subscription.willRenew && subscription.label.givesAccess
        && end.map { $0 <= step.from } ?? false
    }.compactMap { $0.paidUntil(from: now) }.min()
  }

  // MARK: words

  private func isSize(_ a: Schedule.Boundary, of b: Schedule.Boundary) -> Bool {
    a.capByteCount == b.capByteCount && a.planID == b.planID
  }

  private func size(_ boundary: Schedule.Boundary) -> String {
    "\(ByteCount.text(boundary.capByteCount)) (plan \(title(boundary.planID)))"
  }

  private func title(_ planID: String) -> String { catalogue.plan(planID)?.title ?? planID }

  /// To the minute: `2026-04-02 10:00 UTC`.
  private func date(_ moment: Instant) -> String {
    let text = moment.description
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
  }

  private func because(_ boundary: Schedule.Boundary, isPast: Bool = false) -> String {
    let be = isPast ? "was" : "is"
    return switch boundary.reason {
    case .neverSubscribed where !lost.isEmpty, .lapsed where isLost(at: boundary.from):
      "its purchase went from it"
    case .neverSubscribed: isPast ? "no plan had been bought" : "no plan was ever bought"
    case .subscribed: "the current period \(be) paid"
    case .contested: "the current period \(be) paid, though the bank contests the payment"
    case .trial: isPast ? "a free trial ran" : "a free trial runs"
    case .grace: "the last payment failed and \(be) being tried again"
    case .leeway: "a payment \(be) expected that nobody has reported yet"
    case .storeUnreachable:
      "a renewal \(be) expected and the store \(isPast ? "did" : "does") not answer"
    case .courtesy: "it \(be) kept though no payment came"
    case .granted: "we gave it the plan"
    case .quotaSet: "we set that size for it"
    case .paymentFailed where isPast || awaitsPayment: "the last payment failed"
    case .paymentFailed: "the last payment failed and the subscription has ended"
    case .lapsed: "the plan \(isPast ? "had ended" : "has ended")"
    case .grantRevoked: "the plan that we gave it \(isPast ? "had ended" : "has ended")"
    case .refunded: "the payment went back"
    case .disputed: "the bank contests the payment"
    }
  }

  /// Whether what is owed then tells of no plan, as what was bought is not the account's any more.
  private func isLost(at moment: Instant) -> Bool {
    !lost.isEmpty && schedule.last { $0.from <= moment }?.reason == .neverSubscribed
  }

  private func happened(_ step: Schedule.Boundary, since before: Schedule.Boundary) -> String {
    if before.reason == .quotaSet { return "the time of the size that we had set was over" }
    return switch step.reason {
    case .neverSubscribed: "what had been bought counted no more"
    case .subscribed where before.reason == .refunded && isPaid(since: before, at: step):
      "the payment that had gone back came after all"
    case .subscribed: "the period was found paid"
    case .contested: "the bank contested the payment"
    case .trial: "a free trial began"
    case .grace: "the payment for the next period failed"
    case .leeway: "a period began whose payment nobody has reported yet"
    case .storeUnreachable: "a renewal was due that could not be checked"
    case .courtesy: "a period began without a payment"
    case .granted: "we gave your account a plan"
    case .quotaSet: "we set your account's size"
    case .paymentFailed: "the time for a payment was over"
    case .lapsed: "the plan ended"
    case .grantRevoked: "the plan ended that we had given your account"
    case .refunded: "the payment went back"
    case .disputed: "the bank contested the payment"
    }
  }
}

extension EntitlementExplanation.Subscription {
  /// The end of what is paid without a gap from `now` on; nil where nothing is.
  fileprivate func paidUntil(from now: Instant) -> Instant? {
    let paid = intervals.filter { interval in
      switch interval.why {
      case .subscribed, .trial, .courtesy, .contested: true
      default: false
      }
    }
    return Self.end(of: paid, from: now)
  }

  /// The end of what is owed without a gap from `now` on; nil where nothing is.
  fileprivate func owedUntil(from now: Instant) -> Instant? { Self.end(of: intervals, from: now) }

  private static func end(
    of intervals: [EntitlementExplanation.Interval], from now: Instant
  ) -> Instant? {
    var end = now
    while let next = intervals.filter({ $0.from <= end && end < $0.to }).map({ $0.to }).max() {
      end = next
    }
    return end > now ? end : nil
  }

  /// When the period ends that was paid last, whether that payment went back or not; nil where it
  /// is over, or nothing tells.
  fileprivate func billed(after now: Instant) -> Instant? {
    bill.payments.filter { $0.state == .paid }.compactMap { $0.to }.filter { $0 > now }.max()
  }
}

extension EntitlementExplanation.OpenRead {
  /// Whether time alone takes nothing because of it.
  fileprivate var isFailing: Bool { unansweredSince != nil && carriedOnUntil != nil }
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
    case (.dispute, .open): return "the bank contested a payment of \(sum)"
    case (.dispute, .void): return "the bank contested a payment of \(sum), which came to nothing"
    case (.revocation, .void): return "the store took the purchase back and gave it again"
    case (.revocation, _): return "the store took the purchase back"
    }
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
