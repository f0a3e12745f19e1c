package import Base
package import Subscriptions
internal import Tiers

/// A subscription as the ledger knows it now, for the report.
package struct Purchase: Sendable {
  /// The store's name.
  package let store: String
  package let coverage: Coverage
  package let bill: Bill
  /// How its label changed, in the order in which that was noticed.
  package let changes: [Change]

  package init(store: String, coverage: Coverage, bill: Bill, changes: [Change]) {
    self.store = store
    self.coverage = coverage
    self.bill = bill
    self.changes = changes
  }

  /// That its label became another.
  package struct Change: Hashable, Sendable {
    /// When that came true.
    package let at: Instant
    /// When it was noticed; the same where time alone brought it.
    package let noticed: Instant
    /// Nil where nothing was known of it before.
    package let before: Label?
    package let after: Label

    package init(at: Instant, noticed: Instant, before: Label?, after: Label) {
      self.at = at
      self.noticed = noticed
      self.before = before
      self.after = after
    }
  }

  /// When a trial ran. A store may tell of a paid period only, once there is one, as if there had been
  /// no trial: what was noticed stays true.
  var trials: [Range<Instant>] {
    var trials: [Range<Instant>] = []
    for (index, change) in changes.enumerated() where change.after == .trialing {
      let end = index + 1 < changes.count ? changes[index + 1].at : .distantFuture
      if change.at < end { trials.append(change.at..<end) }
    }
    return trials
  }

  /// A paid period.
  struct Paid {
    let plan: String?
    let period: Period
    let from: Instant
  }
}

extension Label {
  /// Whether a payment failed, and may still come.
  package var isFailing: Bool { self == .grace || self == .onHold }
}
