package import Base
package import Storage
package import Stores
package import Subscriptions

/// The things about one subscription that need attention, as its derivation finds them.
package struct AttentionRows: Equatable {
  /// One thing that needs attention; equal ones are the same thing, whenever they are found.
  struct Row: Hashable {
    let kind: Attention.Kind
    /// The product, payment or reversal; empty for the subscription itself.
    var about = ""
    /// The start, if a fact shows it; otherwise, it starts when it is found.
    var since: Instant?
    /// When it settles by itself; nil if it is shown for a while.
    var until: Instant?
  }

  private let rows: [Row]

  /// How long a thing is shown that is over by itself, or whose remedy leaves no trace.
  private static let toldSpan = Instant.Span.days(30)

  package init(
    _ subscription: Subscription, _ coverage: Coverage, traits: StoreTraits, rules: LedgerRules
  ) {
    guard subscription.environment == rules.grantingEnvironment else {
      self.rows = []
      return
    }
    var rows = coverage.alarms.map { Row($0) }
    let end = coverage.intervals.map { $0.to }.max()
    let ownership = subscription.ownership
    switch ownership.evidence {
    case .contested: rows.append(Row(kind: .contestedOwner, until: end ?? .distantFuture))
    case .none:
      if let end { rows.append(Row(kind: .unowned, until: end)) }
    case .deletedAccount:
      if subscription.willRenew, !subscription.hasMoved {
        rows.append(Row(kind: .stillBilled, until: .distantFuture))
      }
    case .token, .predecessor, .claim, .transfer: break
    }
    if subscription.isDirty { rows.append(Row(kind: .contradiction, until: .distantFuture)) }
    if let since = subscription.unacknowledgedSince, let span = traits.acknowledgementSpan {
      rows.append(Row(kind: .unacknowledged, since: since, until: since + span))
    }
    self.rows = Set(rows).sorted {
      ($0.kind.rawValue, $0.about) < ($1.kind.rawValue, $1.about)
    }
  }

  /// Equal for the same things; empty if there are none.
  var text: String {
    rows.map { row in
      "\(row.kind.rawValue) \(row.about) \(row.since?.milliseconds ?? 0) "
        + "\(row.until?.milliseconds ?? 0)\n"
    }.joined()
  }

  /// Writes the rows. Those that stay keep the time at which they were found.
  package func write(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws {
    let object = SQLValue.text(key.description)
    let stored = try transaction.rows(
      "SELECT kind, about FROM billing.attention WHERE object = $1", object
    ) { row in (try row.text(0), try row.text(1)) }
    for (kind, about) in stored
    where !rows.contains(where: { $0.kind.rawValue == kind && $0.about == about }) {
      try transaction.execute(
        "DELETE FROM billing.attention WHERE object = $1 AND kind = $2 AND about = $3", object,
        .text(kind), .text(about))
    }
    for row in rows {
      let isStored = stored.contains { $0.0 == row.kind.rawValue && $0.1 == row.about }
      if isStored, row.until == nil { continue }
      try transaction.execute(
        """
        INSERT INTO billing.attention (object, kind, about, since_ms, until_ms)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (object, kind, about) DO UPDATE SET until_ms = excluded.until_ms
        """, object, .text(row.kind.rawValue), .text(row.about), .instant(row.since ?? now),
        .instant(row.until ?? now + Self.toldSpan))
    }
  }
}

extension AttentionRows.Row {
  /// An alarm stays among the facts for ever. Only a thing that ends together with its alarm is
  /// shown until its end.
  fileprivate init(_ alarm: Coverage.Alarm) {
    switch alarm {
    case .unknownProduct(let price, let product):
      self.init(kind: .unknownProduct, about: price ?? product ?? "", until: .distantFuture)
    case .unmappedProduct(let id):
      self.init(kind: .unmappedProduct, about: id, until: .distantFuture)
    case .unknownStatus(let status): self.init(kind: .unknownStatus, about: status)
    case .paidAfterEnd(let invoice): self.init(kind: .paidAfterEnd, about: invoice)
    case .unpaidItem(let product): self.init(kind: .unpaidTime, about: product)
    case .activeWithoutPayment: self.init(kind: .unpaidTime)
    case .reversal(.disputeOpened, let object):
      self.init(kind: .dispute, about: object, until: .distantFuture)
    case .reversal(let kind, let object):
      self.init(kind: .reversal, about: "\(kind.rawValue) \(object)")
    case .irregularPayment(let irregularity, let object):
      self.init(kind: .irregularPayment, about: "\(irregularity.rawValue) \(object)")
    }
  }
}
