import Base
import Subscriptions
import Tiers

/// Coverage of one Stripe subscription from one value of each of its objects.
///
/// It does not depend on the current time. Its steps, in this order:
/// - Lines of paid and of forgiven invoices give their periods.
/// - A later line of the same item ends an earlier one.
/// - Periods that were refunded, or lost in a dispute, are removed.
/// - The snapshot's items choose the plans.
/// - Trial, leeway and grace are added.
/// - The end of the subscription ends everything that was paid before it.
struct StripeFold {
  let id: String
  let snapshot: Mirror<StripeSubscription>.Observation?
  let invoices: [Invoice]
  let policy: Policy
  let catalogue: Catalogue
  let current: StripeCurrentItems
  /// The billed periods that count, or counted until they were taken back.
  let billed: [StripeBilled]
  let reversals: StripeReversals
  /// When the subscription ended; nil if it has not.
  let endedAt: Instant?
  /// Since when and why it is paused; nil if it is not paused, or if this is unknown.
  let pause: StripeSubscription.Pause?

  init(
    id: String, snapshot: Mirror<StripeSubscription>.Observation?, invoices: [Invoice],
    reversedBy objects: StripeReversals.Objects, customerDeletedAt: Instant?, policy: Policy,
    catalogue: Catalogue
  ) {
    self.id = id
    self.snapshot = snapshot
    self.invoices = invoices
    self.policy = policy
    self.catalogue = catalogue
    let current = StripeCurrentItems(snapshot, catalogue)
    self.current = current
    endedAt = Self.endedAt(snapshot, customerDeletedAt: customerDeletedAt)
    pause = snapshot.flatMap { $0.content.status == .paused ? $0.content.pause : nil }
    let lines = Self.lines(of: invoices, snapshot?.content, policy, current)
    let newest = Self.newestInvoices(lines, invoices)
    let reversals = StripeReversals(objects, invoices: invoices, table: policy.reversals) {
      newest.contains($0.id) ? .current : .past
    }
    self.reversals = reversals
    billed = current.chosen(
      StripeBilled.truncated(lines) { reversals.byInvoice[invoices[$0.index].id] },
      changeIsUnpaid: invoices.contains { $0.isUnpaidChange })
  }

  struct Invoice {
    let id: String
    let content: StripeInvoice
    /// Its lines that bill a plan of this subscription.
    let tierLines: [(line: StripeInvoice.Line, plan: Plan)]
    /// Its lines that credit unused time of a plan.
    let credits: [(line: StripeInvoice.Line, plan: Plan)]
    /// Alarms for products in its lines that the catalogue does not list.
    let unlisted: [Coverage.Alarm]

    init(id: String, content: StripeInvoice, of subscription: String, catalogue: Catalogue) {
      self.id = id
      self.content = content
      var lines: [(line: StripeInvoice.Line, plan: Plan)] = []
      var unlisted: [Coverage.Alarm] = []
      for line in content.subscription == subscription ? content.lines : [] {
        let mapping = catalogue.stripeMapping(price: line.price, product: line.product)
        if let alarm = mapping.alarm(price: line.price, product: line.product) {
          unlisted.append(alarm)
        }
        guard line.from < line.to, let plan = catalogue.plan(for: mapping) else { continue }
        lines.append((line, plan))
      }
      tierLines = lines.filter { !$0.line.isCredit }
      credits = lines.filter { $0.line.isCredit }
      self.unlisted = unlisted
    }
  }

  func coverage() -> Coverage {
    var alarms = productAlarms.union(statusAlarms).union(reversals.alarms)
    var intervals: [Coverage.Interval] = []
    for period in billed {
      let interval = interval(
        period.plan.id, period.from, min(period.to, period.reversal?.at ?? period.to),
        period.basis == .paid ? .subscribed : .courtesy,
        .init(.invoice, invoices[period.index].id))
      if period.basis == .paid, let end, invoices[period.index].wasPaid(after: end) {
        alarms.insert(.paidAfterEnd(invoice: invoices[period.index].id))
        intervals += contested(interval, period)
      } else {
        intervals += contested(ended(paused(interval, period)), period)
      }
    }
    for interval in trial + extensions + firstLeeway { intervals.append(ended(interval)) }
    intervals = intervals.filter { $0.from < $0.to }.sorted()
    return Coverage(intervals: intervals, endings: endings(of: intervals), alarms: alarms)
  }

  /// Gives the part of an interval in which the customer's bank disputes the payment the reason `contested`.
  private func contested(
    _ interval: Coverage.Interval, _ period: StripeBilled
  ) -> [Coverage.Interval] {
    guard period.basis == .paid,
      let since = reversals.contested[invoices[period.index].id], since < interval.to
    else { return [interval] }
    let contested = self.interval(
      interval.planID, max(since, interval.from), interval.to, .contested, interval.evidence)
    return [interval.ending(at: since), contested]
  }

  // MARK: Lines

  private static func lines(
    of invoices: [Invoice], _ snapshot: StripeSubscription?, _ policy: Policy,
    _ current: StripeCurrentItems
  ) -> [StripeBilled] {
    let homes = current.homes(of: invoices)
    let failedSince = invoices.filter { $0.content.isFailing }.map { $0.content.created }.max()
    let firstDue = invoices.filter { $0.content.isAwaited }.compactMap { $0.content.dueAt }.min()
    func billed(
      _ entry: (line: StripeInvoice.Line, plan: Plan), _ index: Int, _ basis: StripeBilled.Basis,
      until end: Instant? = nil
    ) -> StripeBilled {
      StripeBilled(
        entry.line, entry.plan,
        lineage: (entry.line.item ?? homes[entry.plan.id]).map { .item($0) }
          ?? .plan(entry.plan.id), to: end ?? entry.line.to, index: index,
        created: invoices[index].content.created, basis: basis)
    }
    return invoices.indices.flatMap { index -> [StripeBilled] in
      let invoice = invoices[index]
      if invoice.content.status == .paid {
        return invoice.tierLines.filter { !isOfTrial($0.line, snapshot) }
          .map { billed($0, index, .paid) } + invoice.credits.map { billed($0, index, .credit) }
      }
      guard let snapshot else { return [] }
      let isPast = failedSince.map { invoice.content.created < $0 } ?? false
      if snapshot.isForgiven(invoice.content, isPast: isPast, policy) {
        return invoice.tierLines.map { billed($0, index, .courtesy) }
      }
      // No further payment is expected from a customer whose earlier invoice is overdue.
      guard invoice.content.isAwaited, let firstDue, snapshot.isInForce else { return [] }
      return invoice.tierLines.filter { $0.line.from < firstDue }
        .map { billed($0, index, .courtesy, until: firstDue) }
    }
  }

  /// Whether a line of zero only announces the trial in which it starts. The trial may end early,
  /// and nothing was paid.
  private static func isOfTrial(
    _ line: StripeInvoice.Line, _ snapshot: StripeSubscription?
  ) -> Bool {
    guard line.amountMinorUnits == 0, let start = snapshot?.trialStart,
      let end = snapshot?.trialEnd
    else { return false }
    return start <= line.from && line.from < end
  }

  /// The invoice of the last paid period of each item.
  private static func newestInvoices(_ lines: [StripeBilled], _ invoices: [Invoice]) -> Set<String>
  {
    var last: [StripeBilled.Lineage: StripeBilled] = [:]
    for line in lines where line.basis == .paid {
      if let known = last[line.lineage],
        (line.from, line.created, line.index) < (known.from, known.created, known.index)
      {
        continue
      }
      last[line.lineage] = line
    }
    return Set(last.values.map { invoices[$0.index].id })
  }

  // MARK: Alarms

  private var productAlarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    for item in snapshot?.content.items ?? [] {
      let mapping = catalogue.stripeMapping(price: item.price, product: item.product)
      if let alarm = mapping.alarm(price: item.price, product: item.product) {
        alarms.insert(alarm)
      }
      if item.quantity > 1, let plan = catalogue.plan(for: mapping) {
        alarms.insert(.irregularPayment(.quantity, object: "\(plan.id) x \(item.quantity)"))
      }
    }
    for invoice in invoices where invoice.content.status == .paid {
      alarms.formUnion(invoice.unlisted)
    }
    return alarms
  }

  private var statusAlarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    if case .other(let status)? = snapshot?.content.status {
      alarms.insert(.unknownStatus(status))
    }
    if let word = unknownPause { alarms.insert(.unknownStatus("paused: \(word)")) }
    for invoice in invoices where invoice.content.hasUnknownReason {
      alarms.insert(
        .unknownStatus("uncollectible: \(invoice.content.uncollectibleReason ?? "")"))
    }
    if isWithoutInvoice { alarms.insert(.activeWithoutPayment) }
    return alarms
  }

  func interval(
    _ planID: String, _ from: Instant, _ to: Instant, _ why: CapReason,
    _ evidence: Coverage.Evidence
  ) -> Coverage.Interval {
    Coverage.Interval(planID: planID, from: from, to: to, why: why, evidence: evidence)
  }
}

extension StripeFold.Invoice {
  /// Whether it is a change within a period whose payment was attempted and failed.
  fileprivate var isUnpaidChange: Bool {
    !content.isCycle && content.status == .open && content.isAttempted && !tierLines.isEmpty
  }

  /// An unknown time counts as before the end, so that it cannot open a period after it.
  func wasPaid(after end: Instant) -> Bool {
    content.paidAt.map { $0 > end } ?? false
  }
}

extension Catalogue {
  func stripeMapping(price: String?, product: String?) -> Mapping {
    mapping(provider: "stripe", price: price, product: product)
  }
}
