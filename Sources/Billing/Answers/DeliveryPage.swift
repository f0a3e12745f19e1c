package import Base
package import Ledger
package import Storage
internal import Stores
package import Subscriptions
internal import Tiers

/// Which deliveries are asked for.
package struct DeliveryFilter: Sendable {
  /// What is told of subscriptions that the account owns or owned.
  package var account: Identifier?
  package var provider: ObjectKey.Provider?
  package var type: String?
  package var isWithoutEffect = false
  package var since: Instant?
  /// Below which number; nil begins with the newest.
  package var below: Int64?
  package var countMax = 100
  /// What is told of these, by their stores' ids; in place of the account's.
  var objects: [String]?

  package init() {}

  /// How many rows one look reads: more where some of them will not be wanted.
  var readCountMax: Int64 {
    Int64(max(countMax + 1, provider == nil && type == nil ? 0 : 2000))
  }

  fileprivate func wants(_ delivery: DeliverySummary) -> Bool {
    (provider.map { $0 == delivery.provider } ?? true) && (type.map { $0 == delivery.type } ?? true)
      && (since.map { $0 <= delivery.received } ?? true)
  }
}

/// Some deliveries, the newest first, and where to go on.
package struct DeliveryPage: Sendable {
  package private(set) var deliveries: [DeliverySummary] = []
  /// The number below which there may be more; nil at the end.
  package private(set) var next: Int64?
  /// Whether it ends because so many deliveries were looked at, not because so many were found.
  package private(set) var isCutShort = false

  /// What is rare is not looked for in more than this, of a million times as many; a page goes on where
  /// the one before ended.
  package static let lookedAtCountMax: Int64 = 50_000

  /// Reads each delivery that it looks at by an index, none twice.
  package init(
    _ filter: DeliveryFilter, of ledger: Ledger, reading reader: Reader
  ) throws {
    let first = try filter.since.map { try Self.firstNumber(since: $0, reading: reader) } ?? 0
    let reading = ledger.reading(reader)
    let objects =
      try filter.objects
      ?? filter.account.map { account in
        try reading.ids(of: reading.subscriptions(concerning: account))
      }
    var below = filter.below ?? .max
    var lookedAt: Int64 = 0
    while deliveries.count <= filter.countMax {
      let looked: [DeliverySummary]
      if let objects {
        looked = try DeliverySummary.of(
          objects: objects, below: below, from: first, filter, reading: reader)
      } else if filter.isWithoutEffect {
        looked = try DeliverySummary.withoutEffect(
          below: below, from: first, filter,
          sandboxCounts: ledger.rules.grantingEnvironment == .sandbox, reading: reader)
      } else if let type = filter.type {
        looked = try DeliverySummary.of(
          type: type, below: below, from: first, filter, reading: reader)
      } else {
        looked = try DeliverySummary.all(below: below, from: first, filter, reading: reader)
      }
      let page = looked.prefix(Int(filter.readCountMax))
      deliveries += page.filter { delivery in
        filter.wants(delivery)
          && (!filter.isWithoutEffect || delivery.canHaveNoEffect(under: ledger.rules))
      }
      guard let last = page.last, page.count == Int(filter.readCountMax) else { break }
      below = last.number
      lookedAt += Int64(page.count)
      if deliveries.count <= filter.countMax, lookedAt >= Self.lookedAtCountMax {
        (next, isCutShort) = (below, true)
        return
      }
    }
    if deliveries.count > filter.countMax {
      deliveries.removeLast(deliveries.count - filter.countMax)
      next = deliveries.last?.number
    }
  }

  /// How many deliveries there are, as far as they are counted.
  package struct Total: Sendable {
    package internal(set) var count: Int
    /// Why there may be more; nil where all are counted.
    package let limit: Limit?

    package enum Limit: Sendable { case counted, lookedAt }
  }

  /// No more than this are counted.
  package static let totalMax = 10_000

  /// How many a filter wants of which this is the first page: counted only where there are more.
  func total(
    _ filter: DeliveryFilter, of ledger: Ledger, reading reader: Reader
  ) throws -> Total {
    next == nil
      ? Total(count: deliveries.count, limit: nil)
      : try Self.total(filter, of: ledger, reading: reader)
  }

  /// Counts what a filter wants, on whichever page one is.
  package static func total(
    _ filter: DeliveryFilter, of ledger: Ledger, countMax: Int = totalMax, reading reader: Reader
  ) throws -> Total {
    var filter = filter
    (filter.below, filter.countMax) = (nil, countMax)
    let page = try DeliveryPage(filter, of: ledger, reading: reader)
    let limit: Total.Limit? = page.isCutShort ? .lookedAt : page.next == nil ? nil : .counted
    return Total(count: page.deliveries.count, limit: limit)
  }

  /// Numbers follow commits, and commits follow arrivals within moments: what came since then has at
  /// least this number.
  private static func firstNumber(since: Instant, reading reader: Reader) throws -> Int64 {
    let earliest = since - .minutes(10)
    var (low, high) = (
      Int64(0),
      try reader.first("SELECT last_number FROM billing.sequence WHERE id = 1") { row in
        try row.integer(0)
      } ?? 0
    )
    while low < high {
      let middle = low + (high - low) / 2
      let found = try reader.first(
        "SELECT id, received_ms FROM billing.deliveries WHERE id >= $1 ORDER BY id LIMIT 1",
        .integer(middle)
      ) { row in (id: try row.integer(0), received: try row.instant(1)) }
      if let found, found.received < earliest { low = found.id + 1 } else { high = middle }
    }
    return low
  }
}

extension DeliverySummary {
  /// Whether it changes nobody's storage, testers aside.
  package func canHaveNoEffect(under rules: LedgerRules) -> Bool {
    switch disposition {
    case .foreign, .premature, .undecodable: true
    case .joined, .recorded: environment != rules.grantingEnvironment
    }
  }
}
