import Base
import ProviderAPI
import Subscriptions
import Tiers

/// The sentence about what happens next.
extension EntitlementExplanation {
  static let nothingComes = "Nothing changes by itself from here on."

  var next: String {
    if let sentence = erasure ?? outage { return sentence }
    guard let step = remaining.first(where: { $0.from > now && !isSame(current, as: $0) }) else {
      if let paused { return resumption(of: paused) }
      guard current.reason == .paymentFailed else { return billing }
      return "Next, a \(awaitsPayment ? "payment has to succeed" : "plan has to be bought"); "
        + "until then nothing changes by itself."
    }
    if step.reason.givesAccess, step.capByteCount > current.capByteCount {
      return "Next, from \(date(step.from)) on your account may store \(size(step))."
    }
    let isOverdue = [.grace, .leeway, .storeUnreachable].contains(current.reason)
    return "Next, \(clauses(of: current).next)"
      + (isOverdue ? outcome(of: step) : continuing(to: step)) + "."
  }

  /// For an account whose deletion was requested.
  private var erasure: String? {
    guard leaving != nil else { return nil }
    let unless = "unless the deletion is cancelled before"
    guard let erases else {
      return "Next, the account has to be exported, and is erased after that, \(unless)."
    }
    return erases > now
      ? "Next, the account is erased on \(date(erases)), \(unless)."
      : "Next, the account is erased, which has been due since \(date(erases))."
  }

  /// While a store cannot be asked, which extends access.
  private var outage: String? {
    for subscription in subscriptions {
      for read in subscription.openReads {
        guard let since = read.unansweredSince, let end = read.carriedOnUntil else { continue }
        let (needed, done) =
          read.cause ?? .silence == .silence
          ? ("\(subscription.store) has to answer, which it has not", "it does")
          : (
            "the purchase has to be read from \(subscription.store), which has failed",
            "that is done"
          )
        return "Next, \(needed) since \(date(since)); until \(done), nothing is taken away, "
          + "at the latest until \(date(end))."
      }
    }
    return nil
  }

  private func resumption(of paused: Subscription) -> String {
    guard let end = paused.pause?.until else { return "Next, the subscription has to be resumed." }
    let store = paused.store
    return end > now
      ? "Next, \(store) resumes the subscription on \(date(end)) and charges again."
      : "Next, \(store) should report that the subscription was resumed, which was due on "
        + "\(date(end))."
  }

  /// About the next billing, if time alone changes no size.
  private var billing: String {
    if let billedAgain {
      return "Next, the subscription is billed again on \(date(billedAgain)), which brings the "
        + "plan back; cancelling ends that."
    }
    if awaitsReport(\.label) {
      return "Next, the payment for the next period has to be reported; "
        + "until then nothing changes by itself."
    }
    // These give nothing at present.
    let billings = subscriptions.filter { $0.willRenew && $0.paidUntil(from: now) == nil }
      .compactMap { one in
        one.billed(after: now).map { Renewal(subscription: one, at: $0, kind: .payment) }
      }
    guard let renewal = (renewals(until: .distantFuture) + billings).min(by: { $0.at < $1.at })
    else { return Self.nothingComes }
    if renewal.kind == .resumption { return resumption(of: renewal.subscription) }
    let changesNothing = renewal.kind == .payment && !mayAdd(renewal)
    return "Next, \(clause(renewal))"
      + (changesNothing ? ", which changes nothing of what your account may store." : ".")
  }

  /// Whether a renewal may give more than the account may already store.
  private func mayAdd(_ renewal: Renewal) -> Bool {
    guard current.reason != .quotaSet else { return false }
    if renewal.subscription.bill.isScheduled { return true }
    guard let plan = renewal.subscription.next?.plan else { return false }
    return plan.isAddition || plan.byteCount > current.capByteCount
  }

  // MARK: renewals

  /// A subscription that continues by itself, and when it does next.
  private struct Renewal {
    let subscription: Subscription
    let at: Instant
    let kind: Kind

    /// The words before its time, after "if the subscription".
    enum Kind: String {
      case payment = "renews, next"
      /// The store ends the pause and charges.
      case resumption = "is resumed and paid"
      /// No payment is requested.
      case uncollected = "continues, next"
    }
  }

  /// Subscriptions that continue by themselves, and otherwise give nothing from `end` on.
  private func renewals(until end: Instant) -> [Renewal] {
    subscriptions.filter { $0.willRenew }.compactMap { one in
      if one.label == .paused {
        guard let resumed = one.pause?.until, now < resumed, resumed <= end else { return nil }
        return Renewal(subscription: one, at: resumed, kind: .resumption)
      }
      guard one.label.givesAccess, let paid = one.paidUntil(from: now),
        let owed = one.owedUntil(from: now), owed <= end
      else { return nil }
      return Renewal(
        subscription: one, at: paid, kind: one.isUncollected(at: paid) ? .uncollected : .payment)
    }
  }

  /// The plan that a subscription gives once it renews; nil if unknown or no storage.
  private func plan(of subscription: Subscription) -> Plan? {
    guard let next = subscription.next else {
      return subscription.intervals.last.flatMap { catalogue.plan($0.planID) }
    }
    return next.plan
  }

  /// The clause about a renewal, with its plan if that is another.
  private func clause(_ renewal: Renewal) -> String {
    let (subscription, at) = (renewal.subscription, date(renewal.at))
    if renewal.kind == .uncollected {
      return "the subscription continues on \(at); no payment is requested at present"
    }
    let renews = "the subscription renews on \(at)"
    if subscription.bill.isScheduled {
      return "\(renews) as its schedule at \(subscription.store) says"
    }
    guard let next = subscription.next, next.plan?.id != subscription.intervals.last?.planID
    else { return renews }
    return renews
      + (next.plan.map { " as the plan \($0.title) of \(ByteCount.text($0.byteCount))" }
        ?? " as another product")
  }

  /// The clause about a period that ends as it was bought.
  private func continuing(to step: Schedule.Boundary) -> String {
    let carrying = renewals(until: step.from).filter { renewal in
      current.reason != .quotaSet
        && renewal.subscription.intervals.contains {
          $0.planID == current.planID && $0.contains(now)
        }
    }.min { $0.at < $1.at }
    guard let carrying else {
      let (text, then) = (outcome(of: step), then(step))
      return text == then ? "\(then), unless something is bought before" : text
    }
    return clause(carrying)
      + (carrying.kind == .uncollected ? "" : "; if no payment comes, \(then(step))")
  }

  /// The clause about a step, and about the case that another subscription continues until then.
  private func outcome(of step: Schedule.Boundary) -> String {
    // It is not known here whether the sandbox counts for the account.
    let certain = renewals(until: step.from).filter { $0.subscription.environment != .sandbox }
      .map { (renewal: $0, plan: plan(of: $0.subscription)) }
    let best = certain.max {
      ($0.plan?.byteCount ?? 0, $1.renewal.at) < ($1.plan?.byteCount ?? 0, $0.renewal.at)
    }
    guard let (renewal, found) = best, let plan = found else { return then(step) }
    let condition = "if the subscription \(renewal.kind.rawValue) on \(date(renewal.at))"
    if renewal.subscription.bill.isScheduled {
      return
        "\(then(step)), or what the schedule at \(renewal.subscription.store) says \(condition)"
    }
    if !additions.isEmpty || plan.isAddition { return "\(then(step)), or more \(condition)" }
    guard plan.byteCount > step.capByteCount else { return then(step) }
    return "from \(date(step.from)) on your account may store \(ByteCount.text(plan.byteCount)) "
      + "(plan \(plan.title)) \(condition), else \(size(step))"
  }

  private func then(_ step: Schedule.Boundary) -> String {
    "your account may store \(size(step)) from \(date(step.from)) on"
  }
}

extension EntitlementExplanation.Subscription {
  /// Whether it continues at `moment` without requesting a payment.
  func isUncollected(at moment: Instant) -> Bool {
    guard let pause, pause.reason == .collection else { return false }
    return pause.until.map { moment < $0 } ?? true
  }

  /// The end of the last paid period, whether its payment was returned or not; nil if it is over or unknown.
  func billed(after now: Instant) -> Instant? {
    bill.payments.filter { $0.state == .paid }.compactMap { $0.to }.filter { $0 > now }.max()
  }

  /// The end of what is paid without a gap from `now` on; nil if nothing is.
  fileprivate func paidUntil(from now: Instant) -> Instant? {
    end(of: intervals.filter { $0.why.isPaidFor }, from: now)
  }

  /// The end of what is owed without a gap from `now` on; nil if nothing is.
  fileprivate func owedUntil(from now: Instant) -> Instant? { end(of: intervals, from: now) }

  private func end(of intervals: [EntitlementExplanation.Interval], from now: Instant) -> Instant? {
    var end = now
    while let next = intervals.filter({ $0.contains(end) }).map({ $0.to }).max() { end = next }
    return end > now ? end : nil
  }
}
