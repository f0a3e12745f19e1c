import Base
import Subscriptions
import Tiers

/// Coverage of one Google Play purchase from the newest read of it.
///
/// Google's grace is already part of the expiry; our own days of grace are never added. The coverage includes
/// what a purchase granted before it ended. So the past is the same whenever the last read came.
struct GoogleFold {
  let id: String
  let purchase: GooglePurchase
  /// When another purchase replaced it.
  let supersededAt: Instant?
  let orders: [String: [GoogleOrder]]
  let policy: Policy
  let catalogue: Catalogue

  func coverage() -> Coverage {
    var intervals: [Coverage.Interval] = []
    if let start = purchase.startTime, let until = grantedUntil {
      for item in purchase.items where !isTakenBack(item) {
        guard let plan = catalogue.googlePlan(item), let expiry = item.expiryTime else { continue }
        intervals.append(interval(plan, start, min(end(expiry), until), why(item)))
        if mayStillRenew(item) {
          intervals.append(interval(plan, expiry, expiry + policy.leeway, .leeway))
        }
      }
    }
    return Coverage(intervals: intervals, endings: endings(of: intervals), alarms: alarms)
  }

  /// The end of access by the state, which precedes the items' times; nil: there is no access, and was none.
  private var grantedUntil: Instant? {
    switch purchase.state {
    case .active, .inGracePeriod, .canceled: .distantFuture
    case .paused, .onHold, .expired: purchase.ended
    case .pending, .pendingPurchaseCanceled, .other: nil
    }
  }

  private func end(_ expiry: Instant) -> Instant { supersededAt.map { min($0, expiry) } ?? expiry }

  private func why(_ item: GooglePurchase.Item) -> CapReason {
    if purchase.state == .inGracePeriod { return .grace }
    if item.isUnpaid { return .courtesy }
    return item.isFreeTrial ? .trial : .subscribed
  }

  /// Whether the renewal may only not have been seen yet. A renewal can take a day without any report.
  private func mayStillRenew(_ item: GooglePurchase.Item) -> Bool {
    purchase.state == .active && item.autoRenews && !item.isLeaving && supersededAt == nil
  }

  // MARK: voided orders

  /// Never true by default: the purchase's own state says what a void order means for access.
  private func isTakenBack(_ item: GooglePurchase.Item) -> Bool {
    guard let order = item.latestOrderID, isVoid(order) else { return false }
    switch policy.reversals.effect(of: .voidedOrder, on: .current) {
    case .cut, .suspend: return true
    case .none, .flag: return false
    }
  }

  private func isVoid(_ order: String) -> Bool {
    (orders[order] ?? []).contains { $0.state == .refunded || $0.state == .canceled }
  }

  // MARK: endings and alarms

  private func endings(of intervals: [Coverage.Interval]) -> [Schedule.Ending] {
    var moments = Set(
      intervals.map { $0.to }.filter { end in !intervals.contains { $0.contains(end) } })
    if intervals.isEmpty, purchase.wasGranted,
      let last = purchase.items.filter({ catalogue.googlePlan($0) != nil })
        .compactMap(\.expiryTime).max()
    {
      moments.insert(end(last))
    }
    return moments.map { Schedule.Ending(at: $0, reason: reasonOfEnd) }
  }

  private var reasonOfEnd: CapReason {
    if supersededAt == nil,
      purchase.items.contains(where: { $0.latestOrderID.map(isVoid) ?? false })
    {
      return .refunded
    }
    switch purchase.state {
    case .onHold, .inGracePeriod: return .paymentFailed
    case .pending, .active, .paused, .canceled, .expired, .pendingPurchaseCanceled, .other:
      return .lapsed
    }
  }

  private var alarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    for item in purchase.items {
      let mapping = catalogue.googleMapping(item)
      if let alarm = mapping.alarm(price: item.basePlanID, product: item.productID) {
        alarms.insert(alarm)
      }
      if item.isUnpaid, grantedUntil != nil {
        alarms.insert(.unpaidItem(product: item.productID))
      }
    }
    if case .other(let state) = purchase.state { alarms.insert(.unknownStatus(state)) }
    let current = Set(purchase.items.compactMap { $0.latestOrderID })
    for order in orders.keys where isVoid(order) {
      let scope: ReversalTable.Scope = current.contains(order) ? .current : .past
      // If the purchase ended with the order, its paid time ended, too.
      if scope == .current, grantedUntil != .distantFuture { continue }
      if policy.reversals.effect(of: .voidedOrder, on: scope) == .flag {
        alarms.insert(.reversal(.voidedOrder, object: order))
      }
    }
    return alarms
  }

  private func interval(
    _ plan: Plan, _ from: Instant, _ to: Instant, _ why: CapReason
  ) -> Coverage.Interval {
    Coverage.Interval(planID: plan.id, from: from, to: to, why: why, evidence: .init(.purchase, id))
  }
}

extension GooglePurchase.Item {
  /// Whether it has time that no order paid for, as after a hold that another item of the purchase caused.
  fileprivate var isUnpaid: Bool { expiryTime != nil && latestOrderID == nil }
}

extension Catalogue {
  /// By product and base plan (`premium:monthly`), otherwise by the product alone.
  fileprivate func googleMapping(_ item: GooglePurchase.Item) -> Mapping {
    mapping(
      provider: "google", price: item.basePlanID.map { "\(item.productID):\($0)" },
      product: item.productID)
  }

  fileprivate func googlePlan(_ item: GooglePurchase.Item) -> Plan? {
    plan(for: googleMapping(item))
  }
}
