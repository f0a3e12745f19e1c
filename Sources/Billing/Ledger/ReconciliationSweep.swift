package import Base
package import Storage
package import Stores
package import Subscriptions
internal import Tiers

/// What no list shows: subscriptions that must be read one by one to know how they are.
extension Reconciliation {
  /// How many subscriptions one step looks at.
  private static let sliceCount = 100
  /// The store that forgets does so sixty days after a purchase's end.
  private static let lastSpan = Instant.Span.days(50)

  /// Some of the subscriptions, in their order.
  package struct Slice: Sendable {
    /// Those to be read, with those of their parts that a read would look at.
    fileprivate var due: [(key: ObjectKey, parts: [ObjectKey])] = []
    /// Where the next begins; nil behind the last.
    fileprivate var next: String?

    package var parts: [ObjectKey] { due.flatMap(\.parts) }
  }

  /// The next subscriptions, of which those are to be read that are due: in a whole run all, else those
  /// whose paid time ends or ended about now, and those that their store will soon have forgotten.
  package func slice(
    _ ledger: Ledger, _ traits: StoreTraits, within span: Instant.Span, at now: Instant,
    reading database: some Queryable
  ) throws -> Slice {
    let prefix = "\(provider.rawValue):"
    let rows = try database.rows(
      """
      SELECT object, coverage FROM billing.subscriptions WHERE object > $1 AND object < $2
      ORDER BY object LIMIT $3
      """, .text(place ?? prefix), .text("\(provider.rawValue);"),
      .integer(Int64(Self.sliceCount))
    ) { row in (try row.text(0), try row.text(1)) }
    let reading = ledger.reading(database)
    var slice = Slice()
    for (object, text) in rows {
      guard let key = ObjectKey(object), ledger.isReadable(key) else { continue }
      let coverage = try Coverage(text: text)
      let moments = [coverage.paidEnd, coverage.end.map { $0 + Self.lastSpan }]
      let isDue = moments.contains { moment in
        moment.map { now - span <= $0 && $0 <= now + span } ?? false
      }
      guard isWhole || isDue else { continue }
      let parts =
        traits.partsRead > 0 ? try reading.parts(of: key, limit: traits.partsRead) : []
      slice.due.append((key, parts))
    }
    if rows.count == Self.sliceCount { slice.next = rows.last?.0 }
    return slice
  }

  /// Has what is due of a slice read, without the parts where all of them are `shown` as they are known.
  /// False behind the last.
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

  /// The same without what is given until a renewal is seen: what the store did before shows only then.
  fileprivate var paidEnd: Instant? {
    intervals.filter { $0.why != .leeway && $0.why != .storeUnreachable }.map(\.to).max()
  }
}
