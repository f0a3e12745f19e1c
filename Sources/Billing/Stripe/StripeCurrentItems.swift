internal import Base
internal import Subscriptions
internal import Tiers

/// The items that a subscription's snapshot shows, and the plans they choose.
struct StripeCurrentItems {
  /// By item; of items that name none, by plan.
  let plans: [StripeBilled.Lineage: Plan]
  /// Every item sells a plan or is none of ours: what is not among them is gone.
  private let isWhole: Bool
  private let asOf: AsOf?
  private let status: StripeSubscription.Status?

  init(_ snapshot: Mirror<StripeSubscription>.Observation?, _ catalogue: Catalogue) {
    asOf = snapshot?.asOf
    status = snapshot?.content.status
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

  /// Of its plans the largest that adds to nothing, and each that adds.
  var owed: [Plan] {
    let bases = plans.values.filter { !$0.isAddition }
    let largest = bases.max { ($0.byteCount, $0.id) < ($1.byteCount, $1.id) }
    let additions = Set(plans.values.filter { $0.isAddition }).sorted { $0.id < $1.id }
    return [largest].compactMap { $0 } + additions
  }

  /// The item that bills a plan, for lines that name none: the present one, else the newest.
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

  /// The items choose the plans of the periods that run when the snapshot is from, and of those
  /// billed in advance: an item its own, and one that was never billed goes along with the others
  /// until it is, or takes the place of those that are gone.
  ///
  /// While a payment is overdue they do not: an upgrade whose proration stays unpaid leaves the
  /// paid plan until its end. Neither do they once an upgrade's money went back.
  func chosen(_ billed: [StripeBilled]) -> [StripeBilled] {
    guard status == .active || status == .trialing, !plans.isEmpty else { return billed }
    let known = Set(billed.map { $0.lineage })
    let fresh = plans.filter { !known.contains($0.key) }.map { $0.value }
    let running = billed.filter { isChosen($0) }
    let gone = running.filter { plans[$0.lineage] == nil }
    // An item of now whose money went back leaves in place what came before it.
    let refunded = running.filter { $0.reversal != nil && plans[$0.lineage] != nil }
    var result = billed.compactMap { line -> StripeBilled? in
      guard isChosen(line) else { return line }
      if let plan = plans[line.lineage] { return line.billing(plan) }
      let isKept = !isWhole || refunded.contains { $0.plan.isAddition == line.plan.isAddition }
      return isKept ? line : nil
    }
    for plan in fresh {
      let replaced = gone.filter { $0.plan.isAddition == plan.isAddition }
      result += (replaced.isEmpty ? running : replaced).map { $0.billing(plan) }
    }
    return result
  }

  private func isChosen(_ line: StripeBilled) -> Bool {
    guard let asOf, !line.isReplaced, !line.isRevived else { return false }
    return isNewer(than: line) && asOf.from < line.to
  }

  private func isNewer(than line: StripeBilled) -> Bool {
    asOf.map { $0.from >= min(line.from, line.created) } ?? false
  }

  /// Whether an addition is no item any more, so that nothing follows its last period.
  ///
  /// A plan is not asked: it may renew as another item.
  func lacks(_ line: StripeBilled) -> Bool {
    line.plan.isAddition && isWhole && isNewer(than: line) && plans[line.lineage] == nil
  }
}
