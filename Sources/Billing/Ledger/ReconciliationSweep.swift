package import Base
package import Storage
internal import Stores
internal import Subscriptions
internal import Tiers

/// What no list shows: subscriptions that must be read one by one to know how they are.
extension Reconciliation {
  /// How many subscriptions one step looks at.
  private static let sliceCount = 100
  /// The store that forgets does so sixty days after a purchase's end.
  private static let lastSpan = Instant.Span.days(50)

  /// Has those of the next slice read that are due: in a whole run all, else those whose paid time ends
  /// or ended about now, and those that their store will soon have forgotten. False behind the last.
  package mutating func sweep(
    _ ledger: Ledger, within span: Instant.Span, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    let prefix = "\(provider.rawValue):"
    let rows = try transaction.rows(
      """
      SELECT object, coverage FROM billing.subscriptions WHERE object > $1 AND object < $2
      ORDER BY object LIMIT $3
      """, .text(place ?? prefix), .text("\(provider.rawValue);"),
      .integer(Int64(Self.sliceCount))
    ) { row in (try row.text(0), try row.text(1)) }
    for (object, text) in rows {
      guard let key = ObjectKey(object), ledger.isReadable(key) else { continue }
      let coverage = try Coverage(text: text)
      let moments = [coverage.paidEnd, coverage.end.map { $0 + Self.lastSpan }]
      let isDue = moments.contains { moment in
        moment.map { now - span <= $0 && $0 <= now + span } ?? false
      }
      guard isWhole || isDue else { continue }
      try ask(key, ledger, at: now, in: transaction)
    }
    place = rows.last?.0 ?? place
    return rows.count == Self.sliceCount
  }
}

extension Coverage {
  fileprivate var end: Instant? { intervals.map(\.to).max() }

  /// The same without what is given until a renewal is seen: what the store did before shows only then.
  fileprivate var paidEnd: Instant? {
    intervals.filter { $0.why != .leeway && $0.why != .storeUnreachable }.map(\.to).max()
  }
}
