internal import Base
internal import Ledger
internal import ProviderAPI
internal import Subscriptions
internal import Tiers

/// The sentence about what happens next.
extension EntitlementExplanation {
  static let nothingComes = "Nothing changes by itself from here on."

  var next: String {
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
    guard let step = remaining.first(where: { $0.from > now && !isSame(current, as: $0) }) else {
      if let paused { return resumption(of: paused) }
      guard current.reason == .paymentFailed else { return billing }
      return "Next, a \(awaitsPayment ? "payment has to succeed" : "plan has to be bought"); "
        + "until then nothing changes by itself."
    }
    if step.reason.givesAccess, step.capByteCount > current.capByteCount {
      return "Next, from \(date(step.from)) on your account may store \(size(step))."
    }
    switch current.reason {
    case .grace:
      return "Next, the payment is tried again; if none succeeds, \(outcome(of: step))."
    case .leeway where asksForNothing, .storeUnreachable where asksForNothing:
      return "Next, the store should report the period, for which no payment is asked; if it does "
        + "not, \(outcome(of: step))."
    case .leeway, .storeUnreachable:
      return "Next, the payment should be reported; if it is not, \(outcome(of: step))."
    case .contested:
      return "Next, the bank decides: if the payment goes back, the plan ends with it, and if not, "
        + continuing(to: step) + "."
    default: break
    }
    return "Next, \(continuing(to: step))."
  }

  private func resumption(of paused: Subscription) -> String {
    guard let end = paused.pause?.until else { return "Next, the subscription has to be resumed." }
    let store = paused.store
    return end > now
      ? "Next, \(store) resumes the subscription on \(date(end)) and charges again."
      : "Next, \(store) should report that the subscription was resumed, which was due on "
        + "\(date(end))."
  }

  /// The sentence for an account whose deletion was requested.
  private var end: String {
    let unless = "unless the deletion is cancelled before"
    guard let erases else {
      return "Next, the account has to be exported, and is erased after that, \(unless)."
    }
    return erases > now
      ? "Next, the account is erased on \(date(erases)), \(unless)."
      : "Next, the account is erased, which has been due since \(date(erases))."
  }

  /// The sentence about the next billing, if time alone changes no size.
  private var billing: String {
    if let billedAgain {
      return "Next, the subscription is billed again on \(date(billedAgain)), which brings the "
        + "plan back; cancelling ends that."
    }
    if awaitsReport(\.label) {
      return "Next, the payment for the next period has to be reported; "
        + "until then nothing changes by itself."
    }
    guard let renewal = (renewals(until: .distantFuture) + billings).min(by: { $0.at < $1.at })
    else { return Self.nothingComes }
    switch renewal.kind {
    case .resumption: return resumption(of: renewal.subscription)
    case .uncollected:
      return "Next, the subscription continues on \(date(renewal.at)); no payment is requested at "
        + "present."
    case .payment:
      let text = "Next, the subscription renews on \(date(renewal.at))\(change(renewal))"
      return mayAdd(renewal)
        ? "\(text)." : "\(text), which changes nothing of what your account may store."
    }
  }

  /// Renewals of subscriptions that give nothing at present.
  private var billings: [Renewal] {
    subscriptions.filter { $0.willRenew && $0.paidUntil(from: now) == nil }.compactMap { one in
      one.billed(after: now).map {
        Renewal(subscription: one, at: $0, kind: .payment, plan: one.next?.plan)
      }
    }
  }

  /// Whether a renewal may give more than the account may already store.
  private func mayAdd(_ renewal: Renewal) -> Bool {
    guard current.reason != .quotaSet else { return false }
    if renewal.subscription.bill.isScheduled { return true }
    guard renewal.subscription.next != nil, let plan = renewal.plan else { return false }
    return plan.isAddition || plan.byteCount > current.capByteCount
  }

  /// The earliest next billing of a subscription whose payment was or may be returned.
  var billedAgain: Instant? {
    subscriptions.filter { $0.willRenew && ($0.label == .revoked || $0.label == .onHold) }
      .compactMap { $0.billed(after: now) }.min()
  }

  /// Whether an expected renewal has not been reported for too long.
  func awaitsReport(_ label: KeyPath<Subscription, Label>) -> Bool {
    subscriptions.contains { $0.willRenew && $0[keyPath: label] == .renewalPending }
  }

  // MARK: renewals

  /// A subscription that continues by itself, and when it does next.
  private struct Renewal {
    let subscription: Subscription
    let at: Instant
    let kind: Kind
    /// The plan that it gives then; nil if unknown or no storage.
    let plan: Plan?

    enum Kind {
      case payment
      /// The store ends the pause and charges.
      case resumption
      /// It continues, and no payment is requested.
      case uncollected
    }
  }

  /// Subscriptions that continue by themselves, and otherwise give nothing from `end` on.
  private func renewals(until end: Instant) -> [Renewal] {
    subscriptions.filter { $0.willRenew }.compactMap { one in
      if one.label == .paused {
        guard let resumed = one.pause?.until, now < resumed, resumed <= end else { return nil }
        return Renewal(subscription: one, at: resumed, kind: .resumption, plan: plan(of: one))
      }
      guard one.label.givesAccess, let paid = one.paidUntil(from: now),
        one.owedUntil(from: now).map({ $0 <= end }) ?? false
      else { return nil }
      return Renewal(
        subscription: one, at: paid, kind: one.isUncollected(at: paid) ? .uncollected : .payment,
        plan: plan(of: one))
    }
  }

  /// Whether something other than a payment is expected now.
  var asksForNothing: Bool {
    subscriptions.contains { $0.label.givesAccess && $0.isUncollected(at: now) }
  }

  private func plan(of subscription: Subscription) -> Plan? {
    guard let next = subscription.next else {
      return subscription.intervals.last.flatMap { catalogue.plan($0.planID) }
    }
    return next.plan
  }

  /// The clause about the plan from a renewal on, if it is another plan.
  private func change(_ renewal: Renewal) -> String {
    let subscription = renewal.subscription
    if subscription.bill.isScheduled {
      return " as its schedule at \(subscription.store) says"
    }
    guard let next = renewal.subscription.next,
      next.plan?.id != renewal.subscription.intervals.last?.planID
    else { return "" }
    return next.plan.map {
      " as the plan \($0.title) of \(ByteCount.text($0.byteCount))"
    } ?? " as another product"
  }

  /// The clause about a period that ends as it was bought.
  private func continuing(to step: Schedule.Boundary) -> String {
    let carrying = renewals(until: step.from).filter { renewal in
      current.reason != .quotaSet
        && renewal.subscription.intervals.contains {
          $0.planID == current.planID && $0.from <= now && now < $0.to
        }
    }.min { $0.at < $1.at }
    guard let carrying else {
      let (text, then) = (outcome(of: step), then(step))
      return text == then ? "\(then), unless something is bought before" : text
    }
    if carrying.kind == .uncollected {
      return
        "the subscription continues on \(date(carrying.at)); no payment is requested at present"
    }
    return "the subscription renews on \(date(carrying.at))\(change(carrying)); "
      + "if no payment comes, \(then(step))"
  }

  /// The clause about a step, and about the case that another subscription continues until then.
  private func outcome(of step: Schedule.Boundary) -> String {
    // It is not known here whether the sandbox counts for the account.
    let certain = renewals(until: step.from).filter { $0.subscription.environment != .sandbox }
    let renewal = certain.max {
      ($0.plan?.byteCount ?? 0, $1.at) < ($1.plan?.byteCount ?? 0, $0.at)
    }
    guard let renewal, let plan = renewal.plan else { return then(step) }
    let condition =
      switch renewal.kind {
      case .payment: "the subscription renews, next on \(date(renewal.at))"
      case .resumption: "the subscription is resumed and paid on \(date(renewal.at))"
      case .uncollected: "the subscription continues, next on \(date(renewal.at))"
      }
    if renewal.subscription.bill.isScheduled {
      return "\(then(step)), or what the schedule at \(renewal.subscription.store) says if "
        + condition
    }
    if !additions.isEmpty || plan.isAddition { return "\(then(step)), or more if \(condition)" }
    guard plan.byteCount > step.capByteCount else { return then(step) }
    return "from \(date(step.from)) on your account may store \(ByteCount.text(plan.byteCount)) "
      + "(plan \(plan.title)) if \(condition), else \(size(step))"
  }

  private func then(_ step: Schedule.Boundary) -> String {
    "your account may store \(size(step)) from \(date(step.from)) on"
  }
}

extension EntitlementExplanation.Subscription {
  /// The end of what is paid without a gap from `now` on; nil if nothing is.
  fileprivate func paidUntil(from now: Instant) -> Instant? {
    let paid = intervals.filter { interval in
      switch interval.why {
      case .subscribed, .trial, .courtesy, .contested: true
      default: false
      }
    }
    return Self.end(of: paid, from: now)
  }

  /// Whether it continues at `moment` without requesting a payment.
  fileprivate func isUncollected(at moment: Instant) -> Bool {
    guard let pause, pause.reason == .collection else { return false }
    return pause.until.map { moment < $0 } ?? true
  }

  /// The end of what is owed without a gap from `now` on; nil if nothing is.
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

  /// The end of the last paid period, whether its payment was returned or not; nil if it is over or unknown.
  fileprivate func billed(after now: Instant) -> Instant? {
    bill.payments.filter { $0.state == .paid }.compactMap { $0.to }.filter { $0 > now }.max()
  }
}

extension EntitlementExplanation.OpenRead {
  /// Whether access is extended because of it.
  fileprivate var isFailing: Bool { unansweredSince != nil && carriedOnUntil != nil }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
