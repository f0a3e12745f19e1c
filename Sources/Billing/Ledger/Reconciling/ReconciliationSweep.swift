package import Base
package import Storage
package import Stores
package import Subscriptions
import Tiers

/// The step for subscriptions that no list shows: each must be read to know its state.
extension Reconciliation {
  /// The number of subscriptions that one step looks at.
  private static let sliceCount = 100
  /// How long after its end a purchase is read once more. The store that forgets does so sixty days
  /// after the end.
  private static let lastSpan = Instant.Span.days(50)

  /// Some of the subscriptions, in their order.
  package struct Slice: Sendable {
    /// The subscriptions to read, with those of their parts that a read would look at.
    fileprivate var due: [(key: ObjectKey, parts: [ObjectKey])] = []
    /// Where the next slice begins; nil after the last.
    fileprivate var next: String?

    package var parts: [ObjectKey] { due.flatMap(\.parts) }
  }

  /// The next subscriptions, with those of them that are due for a read.
  ///
  /// In a whole run, all are due. In other runs, those are due whose paid time ended since the
  /// previous run or ends about now, and those that their store will soon have forgotten. A run is
  /// also whole if a list of the `store` no longer holds how that time began.
  package func slice(
    _ ledger: Ledger, _ store: any Store, within span: Instant.Span, at now: Instant,
    reading database: some Queryable
  ) throws -> Slice {
    let partsRead = store.traits.partsRead
    let isWhole = isWhole || store.listings.contains { $0.isForgotten(since: since, at: now) }
    let prefix = "\(provider.rawValue):"
    let rows = try database.rows(
      """
      SELECT object, coverage, will_renew FROM billing.subscriptions
      WHERE object > $1 AND object < $2 ORDER BY object LIMIT $3
      """, .text(place ?? prefix), .text("\(provider.rawValue);"),
      .integer(Int64(Self.sliceCount))
    ) { row in (try row.text(0), try row.text(1), try row.integer(2) == 1) }
    let reading = ledger.reading(database)
    var slice = Slice()
    for (object, text, willRenew) in rows {
      guard let key = ObjectKey(object), ledger.isReadable(key) else { continue }
      guard
        try isWhole || isDue(Coverage(text: text), willRenew: willRenew, within: span, at: now)
      else { continue }
      let parts = partsRead > 0 ? try reading.parts(of: key, limit: partsRead) : []
      slice.due.append((key, parts))
    }
    if rows.count == Self.sliceCount { slice.next = rows.last?.0 }
    return slice
  }

  /// Reports since the previous run may be lost: in an outage of ours, or with what came after a
  /// backup that was restored. So the time looked at begins with that run, and not now.
  private func isDue(
    _ coverage: Coverage, willRenew: Bool, within span: Instant.Span, at now: Instant
  ) -> Bool {
    let begin = min(since ?? now, now)
    let moments = [coverage.paidEnd, coverage.end.map { $0 + Self.lastSpan }].compactMap(\.self)
    if moments.contains(where: { begin - span <= $0 && $0 <= now + span }) { return true }
    // Runs were missed: a subscription that was on hold or paused before may have been paid meanwhile.
    let isLate = begin + span + .days(1) < now
    return isLate && willRenew && (coverage.paidEnd ?? now) <= now
  }

  /// Requests reads of what is due in a slice, without the parts if all of them are `shown` as they
  /// are known. Returns false after the last slice.
  package mutating func read(
    _ slice: Slice, shown: [Fact], _ ledger: Ledger, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    let shown = Dictionary(shown.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
    for (key, parts) in slice.due {
      let facts = parts.compactMap { shown[$0] }
      let isShallow =
        try !parts.isEmpty && facts.count == parts.count
        && Self.agrees(with: facts, ledger, reading: transaction)
      try ask(key, isShallow: isShallow, ledger, at: now, in: transaction)
    }
    place = slice.next
    return slice.next != nil
  }
}

extension Coverage {
  fileprivate var end: Instant? { intervals.map(\.to).max() }

  /// The end without what is given until a renewal is seen: what the store did before shows only then.
  fileprivate var paidEnd: Instant? {
    intervals.filter { $0.why != .leeway && $0.why != .storeUnreachable }.map(\.to).max()
  }
}
