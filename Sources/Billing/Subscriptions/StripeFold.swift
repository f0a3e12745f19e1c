internal import Base
internal import Tiers

/// Coverage of one Stripe subscription from one value of each of its objects: the ledger's fold.
///
/// It holds no clock. The letters in the comments are the steps of the ledger's section 3.
struct StripeFold {
  let id: String
  let snapshot: Mirror<StripeSubscription>.Observation?
  let invoices: [Invoice]
  let customerDeletedAt: Instant?
  let policy: Policy
  let catalogue: Catalogue

  struct Invoice {
    let id: String
    let content: StripeInvoice
    /// Its lines that bill a plan; credits do not.
    let tierLines: [(line: StripeInvoice.Line, plan: Plan)]

    init(id: String, content: StripeInvoice, catalogue: Catalogue) {
      self.id = id
      self.content = content
      tierLines = content.lines.compactMap { line in
        guard line.amountMinorUnits >= 0, line.from < line.to,
          let plan = catalogue.stripePlan(price: line.price, product: line.product)
        else { return nil }
        return (line, plan)
      }
    }
  }

  /// A period for which money came.
  private struct Paid {
    var planID: String
    let from: Instant
    var to: Instant
    let invoice: Invoice
  }

  func coverage() -> Coverage {
    var alarms = productAlarms
    let paid = withChosenPlan(truncated(paidLines))
    let basis = Basis(
      paid: paid.map {
        interval($0.planID, $0.from, $0.to, .subscribed, .init(.invoice, $0.invoice.id))
      }, trial: trial, courtesy: courtesy)
    var intervals: [Coverage.Interval] = []
    for (period, interval) in zip(paid, basis.paid) {
      guard let end, period.invoice.wasPaid(after: end) else {
        intervals.append(ended(interval))
        continue
      }
      alarms.insert(.paidAfterEnd(invoice: period.invoice.id))
      intervals.append(interval)
    }
    for interval in basis.trial + basis.courtesy + extensions(of: basis) {
      intervals.append(ended(interval))
    }
    intervals = intervals.filter { $0.from < $0.to }
    return Coverage(intervals: intervals, endings: endings(of: intervals), alarms: alarms)
  }

  // MARK: (a) paid lines

  private var paidLines: [Paid] {
    invoices.filter { $0.content.status == .paid }.flatMap { invoice in
      invoice.tierLines.filter { !isInsideTrial($0.line) }.map {
        Paid(planID: $0.plan.id, from: $0.line.from, to: $0.line.to, invoice: invoice)
      }
    }
  }

  /// A zero line inside a trial announces the trial; nobody paid.
  private func isInsideTrial(_ line: StripeInvoice.Line) -> Bool {
    guard line.amountMinorUnits == 0, let start = snapshot?.content.trialStart,
      let end = snapshot?.content.trialEnd
    else { return false }
    return start <= line.from && line.to <= end
  }

  // MARK: (b) a later paid line truncates

  private func truncated(_ paid: [Paid]) -> [Paid] {
    paid.map { line in
      var line = line
      for later in paid where isLater(later, than: line) { line.to = min(line.to, later.from) }
      return line
    }
  }

  /// Lines of one invoice that start together bill two items side by side.
  private func isLater(_ a: Paid, than b: Paid) -> Bool {
    a.from > b.from || a.from == b.from && a.invoice.content.created > b.invoice.content.created
  }

  // MARK: (d) the plan of the snapshot

  /// The current items choose the plan of the last paid period, unless they are older than it.
  ///
  /// While a payment is overdue they do not: an upgrade whose proration stays unpaid leaves the
  /// paid plan until its end.
  private func withChosenPlan(_ paid: [Paid]) -> [Paid] {
    guard let snapshot, let chosen = snapshotPlan, let last = paid.map({ $0.to }).max() else {
      return paid
    }
    switch snapshot.content.status {
    case .active, .trialing: break
    case .incomplete, .incompleteExpired, .pastDue, .unpaid, .canceled, .paused, .other:
      return paid
    }
    return paid.map { line in
      var line = line
      if line.to == last, snapshot.asOf.from >= line.from { line.planID = chosen.id }
      return line
    }
  }

  /// The largest plan among the current items: tiers never add up.
  private var snapshotPlan: Plan? {
    (snapshot?.content.items ?? [])
      .compactMap { catalogue.stripePlan(price: $0.price, product: $0.product) }
      .max { ($0.byteCount, $0.id) < ($1.byteCount, $1.id) }
  }

  // MARK: (e) trial, courtesy, grace, leeway

  private var trial: [Coverage.Interval] {
    guard let content = snapshot?.content, let start = content.trialStart,
      let end = content.trialEnd, let plan = snapshotPlan
    else { return [] }
    switch content.status {
    case .incomplete, .incompleteExpired, .other: return []
    case .trialing, .active, .pastDue, .unpaid, .canceled, .paused:
      return [interval(plan.id, start, end, .trial, .init(.subscription, id))]
    }
  }

  /// The periods of renewals that the seller forgave while the subscription stayed in good standing.
  private var courtesy: [Coverage.Interval] {
    guard let content = snapshot?.content, content.status == .active else { return [] }
    return invoices.filter { isForgiven($0.content, content) }.flatMap { invoice in
      invoice.tierLines.map {
        interval($0.plan.id, $0.line.from, $0.line.to, .courtesy, .init(.invoice, invoice.id))
      }
    }
  }

  private func isForgiven(_ invoice: StripeInvoice, _ subscription: StripeSubscription) -> Bool {
    guard invoice.isCycle else { return false }
    let byPause = subscription.collectionIsPaused && policy.courtesyForPausedCollection
    switch invoice.status {
    case .paid, .open: return false
    case .draft: return byPause
    case .void: return byPause || policy.courtesyForVoided
    case .uncollectible: return byPause || policy.courtesyForUncollectible
    }
  }

  /// What is owed before grace and leeway look at where it ends.
  private struct Basis {
    let paid: [Coverage.Interval]
    let trial: [Coverage.Interval]
    let courtesy: [Coverage.Interval]

    var lastEnd: Instant? { all.map { $0.to }.max() }
    var all: [Coverage.Interval] { paid + trial + courtesy }
  }

  /// Grace or leeway after the last end, never both and neither after an end or a cancel.
  private func extensions(of basis: Basis) -> [Coverage.Interval] {
    guard endedAt == nil, let snapshot, let lastEnd = basis.lastEnd else { return [] }
    let plans = Set(basis.all.filter { $0.to == lastEnd }.map { $0.planID })
    let failing = invoices.first { isFailing($0.content) && hasUnpaidPeriod($0, beyond: lastEnd) }
    if standing == .overdue || standing == .good && failing != nil {
      guard !basis.paid.isEmpty || policy.graceAfterUnpaidTrial else { return [] }
      let evidence = failing.map { Coverage.Evidence(.invoice, $0.id) } ?? .init(.subscription, id)
      return plans.map { interval($0, lastEnd, lastEnd + policy.grace, .grace, evidence) }
    }
    guard standing == .good, !snapshot.content.cancelAtPeriodEnd,
      !invoices.contains(where: { isGivenUp($0.content) && hasUnpaidPeriod($0, beyond: lastEnd) })
    else { return [] }
    return plans.map {
      interval($0, lastEnd, lastEnd + policy.leeway, .leeway, .init(.subscription, id))
    }
  }

  private enum Standing { case good, overdue, none }

  /// What the status says about renewal; a payment newer than `past_due` outdates it.
  private var standing: Standing {
    guard let snapshot else { return .none }
    switch snapshot.content.status {
    case .active, .trialing: return .good
    case .pastDue:
      let isOutdated = invoices.contains { invoice in
        guard invoice.content.status == .paid, let paidAt = invoice.content.paidAt else {
          return false
        }
        return paidAt >= snapshot.asOf.to && !invoice.tierLines.isEmpty
      }
      return isOutdated ? .good : .overdue
    case .incomplete, .incompleteExpired, .unpaid, .canceled, .paused, .other: return .none
    }
  }

  private func isFailing(_ invoice: StripeInvoice) -> Bool {
    invoice.isCycle && invoice.isAttempted && invoice.status == .open
  }

  private func isGivenUp(_ invoice: StripeInvoice) -> Bool {
    switch invoice.status {
    case .void, .uncollectible: invoice.isCycle
    case .draft, .open, .paid: false
    }
  }

  private func hasUnpaidPeriod(_ invoice: Invoice, beyond end: Instant) -> Bool {
    invoice.tierLines.contains { $0.line.to > end }
  }

  // MARK: (f) the end

  /// When the subscription ended; nil while it lives.
  private var endedAt: Instant? {
    var moments: [Instant] = []
    if let customerDeletedAt { moments.append(customerDeletedAt) }
    if let snapshot, snapshot.content.isEnded {
      moments.append(
        snapshot.content.endedAt ?? snapshot.content.canceledAt ?? snapshot.asOf.from)
    }
    return moments.min()
  }

  /// When it ended, or will by a cancellation with a date: no event is needed to end access.
  private var end: Instant? { endedAt ?? snapshot?.content.cancelAt }

  private func ended(_ interval: Coverage.Interval) -> Coverage.Interval {
    end.map { interval.ending(at: $0) } ?? interval
  }

  private func endings(of intervals: [Coverage.Interval]) -> [Schedule.Ending] {
    var endings: [Schedule.Ending] = []
    let ends = intervals.map { $0.to }
    let last = ends.max()
    for moment in ends where moment < .distantFuture {
      if intervals.contains(where: { $0.contains(moment) }) { continue }
      let failed = paymentFailed(at: moment) || moment == last && failureEndedIt
      endings.append(Schedule.Ending(at: moment, reason: failed ? .paymentFailed : .lapsed))
    }
    return endings
  }

  private func paymentFailed(at moment: Instant) -> Bool {
    invoices.contains { invoice in
      let isUnpaid = isFailing(invoice.content) || invoice.content.status == .uncollectible
      return isUnpaid
        && invoice.tierLines.contains { $0.line.from <= moment && moment < $0.line.to }
    }
  }

  private var failureEndedIt: Bool {
    guard let content = snapshot?.content else { return false }
    return content.endedByFailedPayment || content.status == .unpaid || standing == .overdue
  }

  // MARK: alarms

  private var productAlarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    func check(_ price: String?, _ product: String?) {
      if catalogue.mapping(provider: "stripe", price: price, product: product) == .unknown {
        alarms.insert(.unknownProduct(price: price, product: product))
      }
    }
    for item in snapshot?.content.items ?? [] { check(item.price, item.product) }
    for invoice in invoices where invoice.content.status == .paid {
      for line in invoice.content.lines { check(line.price, line.product) }
    }
    if case .other(let status)? = snapshot?.content.status {
      alarms.insert(.unknownStatus(status))
    }
    return alarms
  }

  private func interval(
    _ planID: String, _ from: Instant, _ to: Instant, _ why: CapReason,
    _ evidence: Coverage.Evidence
  ) -> Coverage.Interval {
    Coverage.Interval(planID: planID, from: from, to: to, why: why, evidence: evidence)
  }
}

extension StripeFold.Invoice {
  /// Unknown moments count as before: they must not open a period after an end.
  func wasPaid(after end: Instant) -> Bool {
    content.paidAt.map { $0 > end } ?? false
  }
}

extension Catalogue {
  /// The plan that a Stripe item means; an unknown one means the fallback, if there is one.
  fileprivate func stripePlan(price: String?, product: String?) -> Plan? {
    switch mapping(provider: "stripe", price: price, product: product) {
    case .plan(let plan): plan
    case .ignored: nil
    case .unknown: fallbackPlanID.flatMap { plan($0) }
    }
  }
}
