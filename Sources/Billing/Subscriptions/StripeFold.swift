internal import Base
internal import Tiers

/// Coverage of one Stripe subscription from one value of each of its objects.
///
/// It holds no clock. The letters in the comments are its steps, in their order: (a) paid lines,
/// (b) each up to the later one that replaces it, (c) what was taken back, (d) the plan that the
/// snapshot chooses, (e) what is owed beyond paid lines, (f) the end.
struct StripeFold {
  let id: String
  let snapshot: Mirror<StripeSubscription>.Observation?
  let invoices: [Invoice]
  let customerDeletedAt: Instant?
  let policy: Policy
  let catalogue: Catalogue
  /// The lines of paid invoices, in the order of their periods.
  let paidLines: [Paid]
  let reversals: StripeReversals

  init(
    id: String, snapshot: Mirror<StripeSubscription>.Observation?, invoices: [Invoice],
    reversedBy objects: StripeReversals.Objects, customerDeletedAt: Instant?, policy: Policy,
    catalogue: Catalogue
  ) {
    self.id = id
    self.snapshot = snapshot
    self.invoices = invoices
    self.customerDeletedAt = customerDeletedAt
    self.policy = policy
    self.catalogue = catalogue
    let paidLines = Self.paidLines(of: invoices, trial: snapshot?.content)
    self.paidLines = paidLines
    let last = paidLines.last.map { invoices[$0.index].id }
    reversals = StripeReversals(objects, invoices: invoices, table: policy.reversals) {
      $0.id == last ? .current : .past
    }
  }

  struct Invoice {
    let id: String
    let content: StripeInvoice
    /// Its lines that bill a plan of this subscription; credits do not.
    let tierLines: [(line: StripeInvoice.Line, plan: Plan)]

    /// What its lines bill that the catalogue does not list.
    let unlisted: [Coverage.Alarm]

    init(id: String, content: StripeInvoice, of subscription: String, catalogue: Catalogue) {
      self.id = id
      self.content = content
      var tierLines: [(line: StripeInvoice.Line, plan: Plan)] = []
      var unlisted: [Coverage.Alarm] = []
      for line in content.subscription == subscription ? content.lines : [] {
        let mapping = catalogue.stripeMapping(price: line.price, product: line.product)
        if let alarm = mapping.alarm(price: line.price, product: line.product) {
          unlisted.append(alarm)
        }
        guard line.amountMinorUnits >= 0, line.from < line.to,
          let plan = catalogue.plan(for: mapping)
        else { continue }
        tierLines.append((line, plan))
      }
      self.tierLines = tierLines
      self.unlisted = unlisted
    }
  }

  /// A period for which money came.
  struct Paid {
    var planID: String
    let from: Instant
    var to: Instant
    /// Its place among the invoices: whole invoices are dear to sort.
    let index: Int
    /// When its invoice was made.
    let created: Instant
    /// Owed again because what replaced it was taken back.
    var isRevived = false
    /// Taken back from then on.
    var taking: StripeReversals.Taking?

    /// Lines of one invoice that start together bill two items side by side.
    func isLater(than other: Paid) -> Bool {
      (from, created) > (other.from, other.created)
    }
  }

  func coverage() -> Coverage {
    var alarms = productAlarms.union(reversals.alarms)
    let paid = withChosenPlan(truncated(paidLines))
    var intervals: [Coverage.Interval] = []
    for period in paid {
      let interval = interval(
        period.planID, period.from, min(period.to, period.taking?.at ?? period.to), .subscribed,
        .init(.invoice, invoices[period.index].id))
      if let end, invoices[period.index].wasPaid(after: end) {
        alarms.insert(.paidAfterEnd(invoice: invoices[period.index].id))
        intervals.append(interval)
      } else {
        intervals.append(ended(interval))
      }
    }
    let basis = Basis(paid: paid, trial: trial, courtesy: courtesy)
    for interval in basis.trial + basis.courtesy + extensions(of: basis) {
      intervals.append(ended(interval))
    }
    intervals = intervals.filter { $0.from < $0.to }
    return Coverage(
      intervals: intervals, endings: endings(of: intervals, paid), alarms: alarms)
  }

  // MARK: (a) paid lines

  private static func paidLines(
    of invoices: [Invoice], trial snapshot: StripeSubscription?
  ) -> [Paid] {
    invoices.indices.filter { invoices[$0].content.status == .paid }.flatMap { index in
      invoices[index].tierLines.filter { !isOfTrial($0.line, snapshot) }.map {
        Paid(
          planID: $0.plan.id, from: $0.line.from, to: $0.line.to, index: index,
          created: invoices[index].content.created)
      }
    }.sorted {
      ($0.from, $0.created, $0.to, $0.planID, $0.index)
        < ($1.from, $1.created, $1.to, $1.planID, $1.index)
    }
  }

  /// A zero line that starts in a trial announces the trial, which may end early; nobody paid.
  private static func isOfTrial(
    _ line: StripeInvoice.Line, _ snapshot: StripeSubscription?
  ) -> Bool {
    guard line.amountMinorUnits == 0, let start = snapshot?.trialStart,
      let end = snapshot?.trialEnd
    else { return false }
    return start <= line.from && line.from < end
  }

  // MARK: (b) a later paid line truncates, (c) and what was taken back does not

  /// Each up to the next that stands; from the last to the first, so that it is one pass.
  private func truncated(_ sorted: [Paid]) -> [Paid] {
    var lines = sorted
    var next: (standing: Instant, any: Instant) = (.distantFuture, .distantFuture)
    var end = lines.endIndex
    while end > lines.startIndex {
      // Those that start together and were billed together do not end each other.
      var start = end - 1
      while start > lines.startIndex, !lines[start].isLater(than: lines[start - 1]) { start -= 1 }
      var begun = next
      for index in start..<end {
        lines[index].taking = reversals.takings[invoices[lines[index].index].id]
        lines[index].to = min(lines[index].to, next.standing)
        lines[index].isRevived = next.any < lines[index].to
        begun.any = lines[index].from
        if lines[index].taking == nil { begun.standing = lines[index].from }
      }
      next = begun
      end = start
    }
    return lines
  }

  // MARK: (d) the plan of the snapshot

  /// The current items choose the plan of the last paid period, unless they are older than it.
  ///
  /// While a payment is overdue they do not: an upgrade whose proration stays unpaid leaves the
  /// paid plan until its end. Neither do they once an upgrade's money went back.
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
      if line.to == last, !line.isRevived, snapshot.asOf.from >= line.from {
        line.planID = chosen.id
      }
      return line
    }
  }

  /// The largest plan among the current items: tiers never add up.
  var snapshotPlan: Plan? {
    (snapshot?.content.items ?? [])
      .compactMap {
        catalogue.plan(for: catalogue.stripeMapping(price: $0.price, product: $0.product))
      }
      .max { ($0.byteCount, $0.id) < ($1.byteCount, $1.id) }
  }

  // MARK: alarms

  private var productAlarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    for item in snapshot?.content.items ?? [] {
      let mapping = catalogue.stripeMapping(price: item.price, product: item.product)
      if let alarm = mapping.alarm(price: item.price, product: item.product) {
        alarms.insert(alarm)
      }
    }
    for invoice in invoices where invoice.content.status == .paid {
      alarms.formUnion(invoice.unlisted)
    }
    if case .other(let status)? = snapshot?.content.status {
      alarms.insert(.unknownStatus(status))
    }
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
  /// Unknown moments count as before: they must not open a period after an end.
  func wasPaid(after end: Instant) -> Bool {
    content.paidAt.map { $0 > end } ?? false
  }
}

extension Catalogue {
  fileprivate func stripeMapping(price: String?, product: String?) -> Mapping {
    mapping(provider: "stripe", price: price, product: product)
  }
}
