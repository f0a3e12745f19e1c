package import Base
package import Subscriptions

/// A subscription as the ledger knows it now, for the report.
package struct Purchase: Sendable {
  /// The store's name.
  package let store: String
  package let coverage: Coverage
  package let bill: Bill
  /// The changes of its label, in the order in which they were noticed.
  package let changes: [Change]

  package init(store: String, coverage: Coverage, bill: Bill, changes: [Change]) {
    self.store = store
    self.coverage = coverage
    self.bill = bill
    self.changes = changes
  }

  /// A change of the label.
  package struct Change: Hashable, Sendable {
    /// When the new label became true.
    package let at: Instant
    /// When the change was noticed; the same time if time alone caused it.
    package let noticed: Instant
    /// Nil if nothing was known of it before.
    package let before: Label?
    package let after: Label

    package init(at: Instant, noticed: Instant, before: Label?, after: Label) {
      self.at = at
      self.noticed = noticed
      self.before = before
      self.after = after
    }
  }

  /// The times of its trials. Once there is a paid period, a store may report only that, as if
  /// there had been no trial. What was noticed before stays true.
  var trials: [Range<Instant>] {
    var trials: [Range<Instant>] = []
    for (index, change) in changes.enumerated() where change.after == .trialing {
      let end = index + 1 < changes.count ? changes[index + 1].at : .distantFuture
      if change.at < end { trials.append(change.at..<end) }
    }
    return trials
  }

  /// The time that a payment is for; nil if that is not known.
  func span(of payment: Bill.Payment) -> (from: Instant, to: Instant)? {
    let own = coverage.intervals.first { $0.evidence == payment.object }
    guard let from = payment.from ?? own?.from, let to = payment.to ?? own?.to else { return nil }
    return (from, to)
  }

  /// A paid period.
  struct Paid {
    let plan: String?
    let period: Period
    let from: Instant
  }
}

extension Label {
  /// Whether a payment failed that may still arrive.
  package var isFailing: Bool { self == .grace || self == .onHold }
}
