internal import Base
internal import Tiers

/// What is owed beyond paid lines: step (e).
extension StripeFold {
  var trial: [Coverage.Interval] {
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
  ///
  /// Nothing is forgiven to whom the last payment was given back.
  var courtesy: [Coverage.Interval] {
    guard let content = snapshot?.content, content.status == .active else { return [] }
    let last = paidLines.last
    let end = last.flatMap { reversals.takings[invoices[$0.index].id] == nil ? nil : $0.from }
    return invoices.filter { isForgiven($0.content, content) }.flatMap { invoice in
      invoice.tierLines.filter { $0.line.from < end ?? .distantFuture }.map {
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
  struct Basis {
    let paid: [Paid]
    let trial: [Coverage.Interval]
    let courtesy: [Coverage.Interval]

    /// Where what was not taken back ends, and the plans that end there.
    var last: (end: Instant, planIDs: Set<String>)? {
      let ends =
        paid.filter { $0.taking == nil }.map { (to: $0.to, planID: $0.planID) }
        + (trial + courtesy).map { (to: $0.to, planID: $0.planID) }
      guard let end = ends.map({ $0.to }).max() else { return nil }
      return (end, Set(ends.filter { $0.to == end }.map { $0.planID }))
    }

    /// Whether the last period was taken back: then nothing follows it.
    func isTakenBack(beyond end: Instant) -> Bool {
      paid.contains { $0.taking != nil && $0.to > end }
    }
  }

  /// Grace or leeway after the last end, never both and neither after an end or a cancel.
  func extensions(of basis: Basis) -> [Coverage.Interval] {
    guard endedAt == nil, let snapshot, let (lastEnd, plans) = basis.last,
      !basis.isTakenBack(beyond: lastEnd)
    else { return [] }
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

  enum Standing { case good, overdue, none }

  /// What the status says about renewal; a payment newer than `past_due` outdates it.
  var standing: Standing {
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

  func isFailing(_ invoice: StripeInvoice) -> Bool {
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
}
