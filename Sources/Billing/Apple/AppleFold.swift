import Base
import Subscriptions
import Tiers

/// Coverage of one App Store subscription from one value of each of its objects.
///
/// Grace is the store's, to the millisecond; our own days of grace are never added.
struct AppleFold {
  let transactions: [Transaction]
  let renewal: Mirror<AppleRenewal>.Observation?
  let status: Mirror<AppleStatus>.Observation?
  let policy: Policy
  let catalogue: Catalogue

  struct Transaction {
    let id: String
    let content: AppleTransaction
  }

  /// The time that a transaction itself gives, before anything is added.
  private struct Period {
    let transaction: Transaction
    let plan: Plan?
    let from: Instant
    var to: Instant
    /// When the store revoked it, before or after its end.
    var takenBackAt: Instant?

    /// Whether nothing follows it: a period that was revoked while it lasted has neither grace nor leeway.
    var isCut: Bool { takenBackAt.map { $0 <= to } ?? false }
  }

  /// Renewals are charged up to a day before the period they pay for.
  private static let earlyRenewal = Instant.Span.hours(24)

  func coverage() -> Coverage {
    var alarms = productAlarms
    let periods = truncated(&alarms)
    var intervals = periods.compactMap { period in
      period.plan.map {
        Coverage.Interval(
          planID: $0.id, from: period.from, to: period.to,
          why: period.transaction.content.isFreeTrial ? .trial : .subscribed,
          evidence: .init(.transaction, period.transaction.id))
      }
    }
    let last = periods.last
    if let last, let plan = last.plan, !last.isCut, let more = extensionReason(last) {
      // Grace follows a period that was not cut. A refund after the expiry ends it.
      intervals.append(
        Coverage.Interval(
          planID: plan.id, from: last.to,
          to: min(more.until, last.takenBackAt ?? .distantFuture), why: more.why,
          evidence: .init(more.why == .grace ? .renewal : .transaction, more.evidence)))
    }
    return Coverage(
      intervals: intervals, endings: endings(of: intervals, periods), alarms: alarms)
  }

  // MARK: paid periods

  /// The period of each transaction: from its purchase to its expiry, the next purchase or its revocation,
  /// whichever is first. The next purchase ends it even if refunded: a refund revives nothing.
  private func truncated(_ alarms: inout Set<Coverage.Alarm>) -> [Period] {
    let sorted = transactions.filter { $0.content.ownership.isKnown }.sorted {
      ($0.content.purchaseDate, $0.id.utf8.count, $0.id)
        < ($1.content.purchaseDate, $1.id.utf8.count, $1.id)
    }
    return sorted.enumerated().map { index, transaction in
      let content = transaction.content
      var period = Period(
        transaction: transaction, plan: catalogue.applePlan(content.productID),
        from: content.purchaseDate, to: content.expiresDate)
      if let next = sorted[(index + 1)...].first {
        period.to = min(period.to, next.content.purchaseDate)
      }
      revoke(&period, isLast: index == sorted.count - 1, &alarms)
      return period
    }
  }

  private func revoke(_ period: inout Period, isLast: Bool, _ alarms: inout Set<Coverage.Alarm>) {
    guard let revocation = period.transaction.content.revocation else { return }
    // For an unknown kind of revocation, the status shows whether access ended with it.
    let isConfirmed = isLast && status?.content.state == .revoked
    let kind = revocation.reversal ?? (isConfirmed ? .fullRefund : .unknownRevocation)
    switch policy.reversals.effect(of: kind, on: isLast ? .current : .past) {
    case .none: break
    case .flag: alarms.insert(.reversal(kind, object: period.transaction.id))
    case .suspend, .cut:
      period.takenBackAt = revocation.date
      period.to = max(period.from, min(period.to, revocation.date))
    }
  }

  // MARK: what follows the last period

  private func extensionReason(
    _ last: Period
  ) -> (until: Instant, why: CapReason, evidence: String)? {
    guard let renewal, isAbout(last, renewal.asOf) else { return nil }
    if let until = renewal.content.gracePeriodExpiresDate {
      // Plans with a commitment have no grace, whatever the renewal info says.
      guard last.transaction.content.commitment == nil else { return nil }
      return until > last.to ? (until, .grace, last.transaction.content.originalTransactionID) : nil
    }
    guard renewal.content.willRenew, !renewal.content.isOver(with: last.transaction.content),
      !isFailing
    else { return nil }
    return (last.to + policy.leeway, .leeway, last.transaction.id)
  }

  /// Whether information from that time can be about the renewal that follows `last`.
  private func isAbout(_ last: Period, _ asOf: AsOf) -> Bool {
    asOf.from >= last.from - Self.earlyRenewal
  }

  /// Whether anything shows that the next renewal failed or will not come.
  private var isFailing: Bool {
    if let renewal, renewal.content.isInBillingRetry || renewal.content.expirationIntent != nil {
      return true
    }
    switch status?.content.state {
    case .expired, .billingRetry, .gracePeriod, .revoked: return true
    case .active, .other, nil: return false
    }
  }

  // MARK: endings

  private func endings(
    of intervals: [Coverage.Interval], _ periods: [Period]
  ) -> [Schedule.Ending] {
    var endings: [Schedule.Ending] = []
    let sorted = intervals.sorted()
    var end = sorted.first?.to
    for interval in sorted {
      if let moment = end, moment < interval.from {
        endings.append(Schedule.Ending(at: moment, reason: reason(at: moment, periods)))
      }
      end = max(end ?? interval.to, interval.to)
    }
    if let end { endings.append(Schedule.Ending(at: end, reason: reason(at: end, periods))) }
    for period in periods where period.isCut && period.plan != nil && period.from == period.to {
      endings.append(Schedule.Ending(at: period.to, reason: .refunded))
    }
    return endings
  }

  private func reason(at moment: Instant, _ periods: [Period]) -> CapReason {
    if periods.contains(where: { $0.to == moment && $0.isCut }) { return .refunded }
    guard let last = periods.last, moment >= last.to else { return .lapsed }
    if let takenBack = last.takenBackAt,
      takenBack == moment || status?.content.state == .revoked
    {
      return .refunded
    }
    let byFailure =
      renewal.map { isAbout(last, $0.asOf) && $0.content.isFailedPayment } ?? false
      || status?.content.state == .billingRetry
    return byFailure ? .paymentFailed : .lapsed
  }

  // MARK: alarms

  private var productAlarms: Set<Coverage.Alarm> {
    var alarms: Set<Coverage.Alarm> = []
    for transaction in transactions {
      let product = transaction.content.productID
      let mapping = catalogue.mapping(provider: "apple", price: product, product: nil)
      if let alarm = mapping.alarm(price: product, product: nil) { alarms.insert(alarm) }
      if case .other(let ownership) = transaction.content.ownership {
        alarms.insert(.unknownStatus(ownership))
      }
    }
    if case .other(let number)? = status?.content.state {
      alarms.insert(.unknownStatus(String(number)))
    }
    return alarms
  }
}

extension AppleRenewal {
  /// Whether billing prevents the renewal, not the customer.
  fileprivate var isFailedPayment: Bool {
    isInBillingRetry || gracePeriodExpiresDate != nil || expirationIntent == Self.billingIntent
  }
}

extension AppleTransaction.Revocation {
  private static let everything: Int64 = 100_000

  /// Nil for a kind that the decoder does not know.
  var reversal: ReversalTable.Kind? {
    switch kind {
    case .full: .fullRefund
    case .prorated: percentageMilliunits == Self.everything ? .fullRefund : .proratedRefund
    case .family: .familyRevoke
    case .assignment: .assignmentRevoke
    case .unknown: nil
    }
  }
}

extension Catalogue {
  /// The plan of an App Store product. An unknown product gets the fallback, if there is one.
  fileprivate func applePlan(_ product: String) -> Plan? {
    plan(for: mapping(provider: "apple", price: product, product: nil))
  }
}
