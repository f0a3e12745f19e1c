import Base
import Subscriptions
import Tiers

/// The items in a subscription's snapshot, and the plans they choose.
struct StripeCurrentItems {
  /// The plans by item; by plan for items without an id.
  let plans: [StripeBilled.Lineage: Plan]
  /// Whether every item sells a plan or is not ours, so that an item that is missing is gone.
  private let isWhole: Bool
  private let asOf: AsOf?
  private let status: StripeSubscription.Status?
  /// Whether a schedule changes the items when a period ends. Then they say nothing about the period before.
  private let isScheduled: Bool

  init(_ snapshot: Mirror<StripeSubscription>.Observation?, _ catalogue: Catalogue) {
    asOf = snapshot?.asOf
    status = snapshot?.content.status
    isScheduled = snapshot?.content.schedule != nil
    var plans: [StripeBilled.Lineage: Plan] = [:]
    var isWhole = true
    for item in snapshot?.content.items ?? [] {
      let mapping = catalogue.stripeMapping(price: item.price, product: item.product)
      if mapping == .unknown { isWhole = false }
      guard let plan = catalogue.plan(for: mapping) else { continue }
      plans[item.id.map { .item($0) } ?? .plan(plan.id)] = plan
    }
    self.plans = plans
    self.isWhole = isWhole && !plans.isEmpty
  }

  /// The largest plan that is not an addition, and every addition.
  var owed: [Plan] {
    let bases = plans.values.filter { !$0.isAddition }
    let largest = bases.max { ($0.byteCount, $0.id) < ($1.byteCount, $1.id) }
    let additions = Set(plans.values.filter { $0.isAddition }).sorted { $0.id < $1.id }
    return [largest].compactMap { $0 } + additions
  }

  /// The item that bills a plan, for lines that name no item: the present one, otherwise the newest.
  func homes(of invoices: [StripeFold.Invoice]) -> [String: String] {
    var homes: [String: (item: String, from: Instant)] = [:]
    for invoice in invoices {
      for (line, plan) in invoice.tierLines {
        guard let item = line.item else { continue }
        if let known = homes[plan.id], (line.from, item) < (known.from, known.item) { continue }
        homes[plan.id] = (item, line.from)
      }
    }
    var result = homes.mapValues { $0.item }
    var present: [String: String] = [:]
    for (lineage, plan) in plans {
      if case .item(let item) = lineage {
        present[plan.id] = min(present[plan.id] ?? item, item)
      }
    }
    result.merge(present) { $1 }
    return result
  }

  /// Applies the plans of the items to the periods that run at the snapshot's time, to those billed in
  /// advance, and to the last ones. A choice holds until another choice or a paid line replaces it. So does
  /// the time that bridges to the next payment. An item chooses its own plan. An item that was never billed
  /// goes along with the others until it is billed, or takes the place of items that are gone.
  ///
  /// While a payment is overdue, items choose only for periods that are over: an upgrade whose proration
  /// stays unpaid leaves the paid plan in place, also for the grace of a renewal. Neither do they choose once
  /// an upgrade was refunded.
  func chosen(_ billed: [StripeBilled], changeIsUnpaid: Bool) -> [StripeBilled] {
    let isOverdue = status == .pastDue
    guard status == .active || status == .trialing || isOverdue && !changeIsUnpaid, !plans.isEmpty
    else { return billed }
    let known = Set(billed.map { $0.lineage })
    // Each plan once. Thousands of items beside thousands of lines would fill the memory.
    let fresh = Set(plans.filter { !known.contains($0.key) }.values)
    let lasts = Lasts(billed, plans)
    func isChosen(_ line: StripeBilled) -> Bool {
      isNewer(than: line) && !line.isReplaced && !line.isRevived
        && (isOver(line) ? lasts.holds(line) : !isOverdue && lasts.runs(line))
    }
    let running = billed.filter { isChosen($0) }
    let gone = running.filter { plans[$0.lineage] == nil }
    // A present item that was refunded leaves in place what came before it.
    let refunded = running.filter { $0.reversal != nil && plans[$0.lineage] != nil }
    func isKept(_ line: StripeBilled) -> Bool {
      !isWhole || refunded.contains { $0.plan.isAddition == line.plan.isAddition }
    }
    // A schedule's change for the next period does not affect the period before.
    func stays(_ line: StripeBilled) -> Bool { isScheduled && isOver(line) }
    var result: [StripeBilled] = []
    for line in billed {
      guard isChosen(line), plans[line.lineage] != nil || !isKept(line) else {
        result.append(line)
        continue
      }
      if stays(line) { result.append(line.replaced()) }
      if let plan = plans[line.lineage] { result.append(line.billing(plan, fromEnd: stays(line))) }
    }
    for plan in fresh {
      let replaced = gone.filter { $0.plan.isAddition == plan.isAddition }
      result += (replaced.isEmpty ? running : replaced).map {
        $0.billing(plan, fromEnd: stays($0))
      }
    }
    return result
  }

  /// Whether the line's period had ended when the snapshot was made.
  private func isOver(_ line: StripeBilled) -> Bool { asOf.map { line.to <= $0.from } ?? false }

  /// The lines of each item that no line follows, except for lines that were taken back.
  private struct Lasts {
    private let plans: [StripeBilled.Lineage: Plan]
    /// The last line that was not taken back, by item and of all items.
    private var byLineage: [StripeBilled.Lineage: StripeBilled] = [:]
    private var any: StripeBilled?

    init(_ billed: [StripeBilled], _ plans: [StripeBilled.Lineage: Plan]) {
      self.plans = plans
      for line in billed where line.reversal == nil {
        if byLineage[line.lineage].map({ $0.from < line.from }) ?? true {
          byLineage[line.lineage] = line
        }
        if any.map({ $0.from < line.from }) ?? true { any = line }
      }
    }

    /// The last line of the same item. For an item that is gone it is the last of all, because the
    /// item is not billed again.
    private func last(of line: StripeBilled) -> StripeBilled? {
      plans[line.lineage] == nil ? any : byLineage[line.lineage]
    }

    /// Whether no line follows this one.
    func holds(_ line: StripeBilled) -> Bool { last(of: line).map { $0.from < line.to } ?? true }

    /// Whether it may still run: the line after it was billed in advance, or there is none.
    func runs(_ line: StripeBilled) -> Bool {
      last(of: line).map { $0.from < line.to || $0.created < line.to } ?? true
    }
  }

  private func isNewer(than line: StripeBilled) -> Bool {
    asOf.map { $0.from >= min(line.from, line.created) } ?? false
  }

  /// Whether an addition is no longer among the items, so that nothing follows its last period.
  ///
  /// This is not asked about other plans: they may renew as another item.
  func lacks(_ line: StripeBilled) -> Bool {
    line.plan.isAddition && isWhole && isNewer(than: line) && plans[line.lineage] == nil
  }
}
