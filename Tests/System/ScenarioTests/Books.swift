import Storage
import StripeSamples
import Testing

/// Each account's charges, read after the programs have ended.
struct Books {
  private let sums: [[Int64]]
  private let counts: [[Int64]]

  init(_ installation: Installation) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    counts = try database.read { reader in
      try reader.rows(
        """
        SELECT accounts.record_count,
          (SELECT count(*) FROM sync.files WHERE owner_id = accounts.id AND deleted = 0)
        FROM sync.accounts
        """
      ) { row in [try row.integer(0), try row.integer(1)] }
    }
    sums = try database.read { reader in
      try reader.rows(
        """
        SELECT accounts.usage_bytes,
          (SELECT CAST(sum(delta_bytes) AS BIGINT) FROM sync.usage_entries
            WHERE owner_id = accounts.id),
          (SELECT CAST(sum(content_bytes) + 1000 * count(*) AS BIGINT) FROM sync.files
            WHERE owner_id = accounts.id AND deleted = 0)
        FROM sync.accounts
        """
      ) { row in [try row.integer(0), try row.integer(1), try row.integer(2)] }
    }
  }

  /// Expects that every total equals the sum of its entries and the counted size of the live files.
  func expectWhole(accountCount: Int) {
    #expect(sums.count == accountCount)
    #expect(sums.filter { Set($0).count != 1 } == [])
    #expect(counts.filter { Set($0).count != 1 } == [])
  }
}

/// The deliveries that `coffer-billing` has kept, read after it has ended.
struct Deliveries {
  private let kept: [String: Kept]

  private struct Kept: Equatable {
    var deliveries: Int64
    /// The subscriptions that the delivery's own transaction derived from it.
    var subscriptions: Int64
  }

  init(_ installation: Installation) throws {
    let database = try Database.open(installation.location, owning: .billing)
    defer { database.close() }
    let rows = try database.read { reader in
      try reader.rows(
        """
        SELECT delivery_id, count(*),
          (SELECT count(*) FROM billing.subscriptions
            WHERE object = 'stripe:live:subscription:' || min(deliveries.object))
        FROM billing.deliveries GROUP BY delivery_id
        """
      ) { row in
        (try row.text(0), Kept(deliveries: try row.integer(1), subscriptions: try row.integer(2)))
      }
    }
    kept = Dictionary(uniqueKeysWithValues: rows)
  }

  var count: Int { kept.count }

  /// Expects each of the events once, with the subscription derived from it.
  func expectEach(of events: [SampleEvent]) {
    let wrong = events.filter { kept[$0.id] != Kept(deliveries: 1, subscriptions: 1) }
    #expect(wrong.map(\.id) == [])
  }
}
