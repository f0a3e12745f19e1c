import Answers
import Base
import Ledger
import Storage
import Stores

/// What needs attention, as gauges. They are read from the database once a minute, not at each scrape.
struct AttentionMetrics: Sendable {
  static let shared = AttentionMetrics(.shared)

  private let gauges: [Attention.Kind: Metrics.Gauge]

  private static let spanSeconds: Int64 = 60

  init(_ metrics: Metrics) {
    gauges = Dictionary(
      uniqueKeysWithValues: Attention.Kind.allCases.map { kind in
        (
          kind,
          metrics.gauge(
            "coffer_billing_attention",
            "Things that need attention, by kind, at most \(AttentionList.countMax); "
              + "coffer attention lists them.",
            label: ("kind", kind.rawValue))
        )
      })
  }

  /// Updates the gauges until the returned object is stopped, which must be before the database is closed.
  func watch(_ database: Database, _ stores: StoreList, _ clock: Clock) -> Periodic {
    Periodic("attention", every: Self.spanSeconds) {
      try measure(database, stores, at: clock.now())
    }
  }

  func measure(_ database: Database, _ stores: StoreList, at now: Instant) throws {
    let list = try database.read { reader in
      try AttentionList(at: now, limit: 1, stores: stores, reading: reader)
    }
    for (kind, gauge) in gauges { gauge.set(Int64(list.counts[kind] ?? 0)) }
  }
}
