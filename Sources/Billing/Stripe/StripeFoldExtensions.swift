import Base
import Subscriptions
import Tiers

/// Access beyond paid lines.
extension StripeFold {
  var trial: [Coverage.Interval] {
    guard let content = snapshot?.content, let start = content.trialStart,
      let end = content.trialEnd
    else { return [] }
    switch content.status {
    case .incomplete, .incompleteExpired, .other: return []
    case .trialing, .active, .pastDue, .unpaid, .canceled, .paused:
      return current.owed.map { interval($0.id, start, end, .trial, .init(.subscription, id)) }
    }
  }

  /// The last period of one item, before grace and leeway extend its end.
  private struct Last {
    var end: Instant
    var plans: Set<Plan>
    var isTakenBack = false
  }

  /// Grace or leeway after the last end of each item. Never both, and neither after an end or a cancellation.
  var extensions: [Coverage.Interval] {
    guard endedAt == nil, snapshot != nil else { return [] }
    return lasts.flatMap { last in
      last.plans.sorted { $0.id < $1.id }.flatMap { extensions(of: $0, from: last.end) }
    }
  }

  private func extensions(of plan: Plan, from lastEnd: Instant) -> [Coverage.Interval] {
    let failing = invoices.first {
      $0.content.isFailing && hasUnpaidPeriod($0, of: plan, beyond: lastEnd)
    }
    if paymentStatus == .overdue || paymentStatus == .current && failing != nil {
      guard billed.contains(where: { $0.basis == .paid }) || policy.graceAfterUnpaidTrial else {
        return []
      }
      let evidence = failing.map { Coverage.Evidence(.invoice, $0.id) } ?? .init(.subscription, id)
      return [interval(plan.id, lastEnd, lastEnd + policy.grace, .grace, evidence)]
    }
    guard paymentStatus == .current, snapshot?.content.cancelAtPeriodEnd == false,
      !invoices.contains(where: {
        $0.content.isGivenUp && hasUnpaidPeriod($0, of: plan, beyond: lastEnd)
      })
    else { return [] }
    return [interval(plan.id, lastEnd, lastEnd + policy.leeway, .leeway, .init(.subscription, id))]
  }

  /// The end of each item's periods that were not taken back. Items whose last period was taken
  /// back or replaced by another item are left out.
  private var lasts: [Last] {
    var lasts: [StripeBilled.Lineage: Last] = [:]
    func note(_ lineage: StripeBilled.Lineage, _ plan: Plan, _ end: Instant) {
      var last = lasts[lineage] ?? Last(end: end, plans: [])
      if end > last.end { last = Last(end: end, plans: []) }
      if end == last.end { last.plans.insert(plan) }
      lasts[lineage] = last
    }
    for line in billed
    where line.reversal == nil && !line.isReplaced && !current.lacks(line) && !isWaiting(line) {
      note(line.lineage, line.plan, line.to)
    }
    if let trialEnd = trial.first?.to {
      for (lineage, plan) in current.plans { note(lineage, plan, trialEnd) }
    }
    for line in billed where line.reversal != nil {
      if let last = lasts[line.lineage], line.to > last.end {
        lasts[line.lineage]?.isTakenBack = true
      }
    }
    return lasts.values.filter { !$0.isTakenBack }
  }

  enum PaymentStatus { case current, overdue, none }

  /// The payment status that the subscription's status implies. A payment newer than `past_due` outdates it.
  var paymentStatus: PaymentStatus {
    guard let snapshot else { return .none }
    switch snapshot.content.status {
    case .active, .trialing: return .current
    case .pastDue:
      let isOutdated = invoices.contains { invoice in
        guard invoice.content.status == .paid, let paidAt = invoice.content.paidAt else {
          return false
        }
        return paidAt >= snapshot.asOf.to && !invoice.tierLines.isEmpty
      }
      return isOutdated ? .current : .overdue
    case .paused:
      let reason = snapshot.content.pause?.reason
      return reason == .firstPaymentFailure || reason == .finalPaymentFailure ? .overdue : .none
    case .incomplete, .incompleteExpired, .unpaid, .canceled, .other: return .none
    }
  }

  private func hasUnpaidPeriod(_ invoice: Invoice, of plan: Plan, beyond end: Instant) -> Bool {
    let isDueLater = invoice.content.dueAt.map { $0 >= end } ?? false
    return invoice.tierLines.contains {
      $0.plan.isAddition == plan.isAddition && ($0.line.to > end || isDueLater)
    }
  }

  // MARK: Before the first payment

  /// Leeway for a subscription that the store calls active before any invoice is known.
  var firstLeeway: [Coverage.Interval] {
    guard let snapshot, snapshot.content.status == .active, endedAt == nil,
      let began = snapshot.content.began, snapshot.asOf.from < began + policy.leeway,
      trial.isEmpty, invoices.isEmpty
    else { return [] }
    return current.owed.map {
      interval($0.id, began, began + policy.leeway, .leeway, .init(.subscription, id))
    }
  }

  /// Whether the store calls the subscription active and names no invoice that could have been paid.
  var isWithoutInvoice: Bool {
    guard let content = snapshot?.content, content.status == .active, !current.plans.isEmpty else {
      return false
    }
    return content.latestInvoice == nil && content.began != nil && trial.isEmpty
      && invoices.isEmpty
  }

  // MARK: The status `paused`

  /// The part of a billed period that counts while the subscription is paused.
  ///
  /// If the pause was requested, Stripe credits the unused time. Money that arrived after the pause
  /// began counts when the pause is over.
  func paused(_ interval: Coverage.Interval, _ period: StripeBilled) -> Coverage.Interval {
    guard let pause, let start = pause.at else { return interval }
    return pause.reason == .requested || isWaiting(period) ? interval.ending(at: start) : interval
  }

  /// Whether the period was paid after the pause began, so that it waits for the pause's end.
  private func isWaiting(_ period: StripeBilled) -> Bool {
    guard let start = pause?.at else { return false }
    return invoices[period.index].wasPaid(after: start)
  }

  /// Stripe's reason for a pause if nothing known explains it. The end of a trial explains a pause without a reason.
  var unknownPause: String? {
    guard let content = snapshot?.content, content.status == .paused else { return nil }
    switch content.pause?.reason {
    case .requested, .firstPaymentFailure, .finalPaymentFailure, .trialEnd: return nil
    case .other(let word): return word
    case nil:
      let isAfterTrial = content.trialEnd != nil && !billed.contains { $0.basis == .paid }
      return isAfterTrial ? nil : "no reason"
    }
  }
}

extension StripeSubscription {
  /// Whether the seller forgave this renewal while the subscription stayed current: it is active,
  /// or overdue because a later renewal failed (`isPast`).
  func isForgiven(_ invoice: StripeInvoice, isPast: Bool, _ policy: Policy) -> Bool {
    guard status == .active || status == .pastDue && isPast, invoice.isCycle else { return false }
    let byPause = collectionIsPaused && policy.courtesyForPausedCollection
    switch invoice.status {
    case .paid, .open: return false
    case .draft: return byPause
    case .void: return byPause || policy.courtesyForVoided
    case .uncollectible:
      // An invoice without any request for payment was written off by a pause of collection, even
      // if the pause is over now.
      let byFormerPause =
        !invoice.isAttempted && invoice.dueAt == nil && policy.courtesyForPausedCollection
      return byPause || invoice.isForgivenToUser
        || invoice.uncollectibleReason == nil && (byFormerPause || policy.courtesyForUncollectible)
    }
  }
}

extension StripeInvoice {
  /// Whether it was sent to the customer, who may still pay it.
  var isAwaited: Bool { status == .open && dueAt != nil }

  /// Whether it is a renewal whose payment failed, or that is overdue once its due date has passed.
  var isFailing: Bool { isCycle && status == .open && (isAttempted || dueAt != nil) }

  var isGivenUp: Bool { isCycle && (status == .void || status == .uncollectible) }

  /// https://docs.stripe.com/api/invoices/object#invoice_object-status_details
  var isForgivenToUser: Bool { uncollectibleReason == "user_forgiven" }

  /// Whether it was written off for a reason that this decoder does not know. This raises an alarm;
  /// otherwise it counts as without a reason.
  var hasUnknownReason: Bool {
    switch uncollectibleReason {
    case nil, "user_forgiven", "max_payment_attempts", "payment_not_received",
      "subscription_canceled", "subscription_paused":
      false
    default: status == .uncollectible
    }
  }
}
