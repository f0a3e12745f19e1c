package import Base
import Subscriptions
package import Tiers

/// A purchase and those that continue it. The report counts them once, even if the store gave them
/// several numbers.
package struct Subscriber: Sendable {
  private let purchases: [Purchase]
  private let catalogue: Catalogue
  private let trials: [[Range<Instant>]]
  private let paid: [[Purchase.Paid]]

  /// `catalogue` has every plan that the purchases' coverages name.
  package init(_ purchases: [Purchase], _ catalogue: Catalogue) {
    self.purchases = purchases
    self.catalogue = catalogue
    trials = purchases.map(\.trials)
    paid = purchases.map { purchase in
      purchase.bill.payments.filter { $0.state == .paid && !($0.amount?.isZero ?? false) }
        .compactMap { payment in
          let plan = Self.plan(of: payment, purchase, catalogue)
          return purchase.span(of: payment).map {
            Purchase.Paid(plan: plan, period: Period(from: $0.from, to: $0.to), from: $0.from)
          }
        }.sorted { $0.from < $1.from }
    }
  }

  /// The status of a subscriber at a moment.
  package enum Status: Hashable, Sendable {
    /// Nothing is owed, except perhaps the leeway for a first payment.
    case none
    case trial
    case subscribed(Segment)

    package var segment: Segment? {
      if case .subscribed(let segment) = self { segment } else { nil }
    }
  }

  /// A change of the status.
  package struct Edge: Hashable, Sendable {
    package let at: Instant
    package let before: Status
    package let after: Status
    /// Why nothing is owed any more, if the subscriber was lost.
    package let reason: CapReason?
  }

  /// All changes before `end`, in order.
  package func edges(before end: Instant) -> [Edge] {
    let moments = Set(
      purchases.flatMap { $0.coverage.intervals.flatMap { [$0.from, $0.to] } }
        + trials.joined().flatMap { [$0.lowerBound, $0.upperBound] })
    var edges: [Edge] = []
    var before = Status.none
    for moment in moments.sorted() where moment < end {
      let after = status(at: moment, after: before)
      guard after != before else { continue }
      edges.append(
        Edge(
          at: moment, before: before, after: after,
          reason: after == .none ? reasonOfEnd(at: moment) : nil))
      before = after
    }
    return edges
  }

  /// The reasons for a plan that do not depend on the previous status.
  private static let firmReasons: Set<CapReason> = [.subscribed, .contested, .courtesy]

  /// The status at a moment. Grace and leeway continue the previous status, because they follow a period.
  private func status(at moment: Instant, after before: Status) -> Status {
    var owed: [(purchase: Int, interval: Coverage.Interval)] = []
    for (index, purchase) in purchases.enumerated() {
      for interval in purchase.coverage.intervals where interval.contains(moment) {
        owed.append((index, interval))
      }
    }
    func isTrial(_ purchase: Int) -> Bool { trials[purchase].contains { $0.contains(moment) } }
    let firm = owed.filter { Self.firmReasons.contains($0.interval.why) && !isTrial($0.purchase) }
    if !firm.isEmpty { return .subscribed(segment(firm, at: moment)) }
    if owed.isEmpty { return .none }
    if owed.contains(where: { $0.interval.why == .trial || isTrial($0.purchase) }) {
      return .trial
    }
    let hasGrace = owed.contains { $0.interval.why == .grace }
    switch before {
    case .trial: return .trial
    case .none where !hasGrace: return .none
    case .none, .subscribed: return .subscribed(segment(owed, at: moment))
    }
  }

  /// The segment of what is owed. Additions count only if there is nothing else.
  private func segment(
    _ owed: [(purchase: Int, interval: Coverage.Interval)], at moment: Instant
  ) -> Segment {
    func rank(_ id: String) -> (Int, Int64, String) {
      let plan = catalogue.plan(id)
      return (plan?.isAddition ?? false ? 0 : 1, plan?.byteCount ?? 0, id)
    }
    // `owed` is never empty: every caller checks that.
    let best = owed.max { rank($0.interval.planID) < rank($1.interval.planID) } ?? owed[0]
    return Segment(
      store: purchases[best.purchase].store, plan: best.interval.planID,
      period: period(of: best.interval.planID, best.purchase, at: moment))
  }

  /// The period of the newest payment for the plan that covers a whole period, or of the first
  /// payment to come.
  private func period(of plan: String?, _ purchase: Int, at moment: Instant) -> Period {
    let whole = paid[purchase].filter { $0.period != .other }
    let own = whole.filter { $0.plan == plan }
    let candidates = own.isEmpty ? whole : own
    return (candidates.last { $0.from <= moment } ?? candidates.first)?.period ?? .other
  }

  private func reasonOfEnd(at moment: Instant) -> CapReason {
    purchases.compactMap { $0.coverage.ending(at: moment) }.max { $0.at < $1.at }?.reason
      ?? .lapsed
  }

  // MARK: money

  /// Money that was received or that went back.
  package struct Booking: Sendable {
    package let kind: Kind
    package let at: Instant
    package let segment: Segment
    /// Nil if the store did not report it.
    package let amount: Money?

    package enum Kind: Sendable { case payment, refund, dispute }
  }

  /// What was paid and what went back, without anything still open.
  package var bookings: [Booking] {
    purchases.enumerated().flatMap { index, purchase in
      let payments = purchase.bill.payments.filter { $0.state == .paid }
      return payments.map { payment in
        Booking(
          kind: .payment, at: payment.at, segment: segment(of: payment, index),
          amount: payment.amount)
      }
        + purchase.bill.reversals.compactMap { reversal in
          guard reversal.state == .done, reversal.kind.isOfMoney else { return nil }
          let payment = payments.first { $0.object == reversal.payment }
          return Booking(
            kind: reversal.kind == .dispute ? .dispute : .refund, at: reversal.at,
            segment: payment.map { segment(of: $0, index) }
              ?? Segment(store: purchase.store, plan: nil, period: .other),
            amount: reversal.amount)
        }
    }
  }

  private func segment(of payment: Bill.Payment, _ index: Int) -> Segment {
    let purchase = purchases[index]
    let plan = Self.plan(of: payment, purchase, catalogue)
    var period = purchase.span(of: payment).map { Period(from: $0.from, to: $0.to) } ?? .other
    // A customer who pays for a part of a period normally pays by the month or the year.
    if period == .other { period = self.period(of: plan, index, at: payment.at) }
    return Segment(store: purchase.store, plan: plan, period: period)
  }

  /// The largest plan that is owed because of the payment, otherwise the one of its product.
  private static func plan(
    of payment: Bill.Payment, _ purchase: Purchase, _ catalogue: Catalogue
  ) -> String? {
    let owed = purchase.coverage.intervals.filter { $0.evidence == payment.object }
      .compactMap { catalogue.plan($0.planID) }
    if let best = owed.max(by: {
      ($0.isAddition ? -1 : $0.byteCount) < ($1.isAddition ? -1 : $1.byteCount)
    }) {
      return best.id
    }
    switch catalogue.mapping(
      provider: purchase.store, price: payment.price, product: payment.product)
    {
    case .plan(let plan), .kept(let plan, _): return plan.id
    case .ignored, .unknown: return nil
    }
  }

  // MARK: payments that fail

  /// A moment at which payments began to fail, or stopped failing.
  package struct Failure: Sendable {
    package let at: Instant
    package let became: Became

    package enum Became: Sendable { case failing, recovered, lost }
  }

  /// The failures, by the time when each was noticed.
  package var failures: [Failure] {
    purchases.flatMap { purchase in
      purchase.changes.compactMap { change -> Failure? in
        let (before, after) = (change.before?.isFailing ?? false, change.after.isFailing)
        guard before != after else { return nil }
        let became: Failure.Became =
          after ? .failing : change.after.givesAccess ? .recovered : .lost
        return Failure(at: change.noticed, became: became)
      }
    }
  }

  /// The time of the first known event.
  package var began: Instant? {
    (purchases.flatMap { $0.coverage.intervals.map(\.from) + $0.bill.payments.map(\.at) }).min()
  }
}

extension Money {
  /// Whether the amount is zero.
  fileprivate var isZero: Bool { !amount.contains { $0 != "0" && $0 != "." && $0 != "-" } }
}
