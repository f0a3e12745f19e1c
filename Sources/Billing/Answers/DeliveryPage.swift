package import Base
package import Ledger
package import Storage
import Stores
package import Subscriptions
import Tiers

/// The selection of deliveries to list.
package struct DeliveryFilter: Sendable {
  /// Only deliveries about subscriptions that the account owns or owned.
  package var account: Identifier?
  package var provider: ObjectKey.Provider?
  package var type: String?
  package var isWithoutEffect = false
  package var since: Instant?
  /// Only numbers below this; nil starts with the newest.
  package var below: Int64?
  package var countMax = 100
  /// Only deliveries about these objects, by their stores' ids; used in place of `account`.
  var objects: [String]?

  package init() {}

  /// How many rows one query reads: more if some of them may not match.
  var readCountMax: Int64 {
    Int64(max(countMax + 1, provider == nil && type == nil ? 0 : 2000))
  }

  fileprivate func wants(_ delivery: DeliverySummary) -> Bool {
    (provider.map { $0 == delivery.provider } ?? true) && (type.map { $0 == delivery.type } ?? true)
      && (since.map { $0 <= delivery.received } ?? true)
  }
}

/// A page of deliveries, newest first, and where the next one starts.
package struct DeliveryPage: Sendable {
  package private(set) var deliveries: [DeliverySummary] = []
  /// The number below which there may be more; nil at the end.
  package private(set) var next: Int64?
  /// Whether the page ended because of the number of deliveries looked at, not of those found.
  package private(set) var isCutShort = false

  /// The most deliveries that one page looks at in search of rare ones, even among a million times
  /// as many. The next page continues where this one ended.
  package static let lookedAtCountMax: Int64 = 50_000

  /// Reads each delivery by an index, and none twice.
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
      let page = try DeliverySummary.candidates(
        for: filter, about: objects, below: below, from: first,
        sandboxCounts: ledger.rules.grantingEnvironment == .sandbox, reading: reader
      ).prefix(Int(filter.readCountMax))
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

  /// The number of deliveries, as far as they were counted.
  package struct Total: Sendable {
    package internal(set) var count: Int
    /// Why there may be more; nil if all were counted.
    package let limit: Limit?

    package enum Limit: Sendable { case counted, lookedAt }
  }

  /// The most that are counted.
  package static let totalMax = 10_000

  /// The number of deliveries that match a filter, of which this is the first page. It counts only
  /// if there are more pages.
  func total(
    _ filter: DeliveryFilter, of ledger: Ledger, reading reader: Reader
  ) throws -> Total {
    next == nil
      ? Total(count: deliveries.count, limit: nil)
      : try Self.total(filter, of: ledger, reading: reader)
  }

  /// Counts the deliveries that match a filter, regardless of the page.
  package static func total(
    _ filter: DeliveryFilter, of ledger: Ledger, countMax: Int = totalMax, reading reader: Reader
  ) throws -> Total {
    var filter = filter
    (filter.below, filter.countMax) = (nil, countMax)
    let page = try DeliveryPage(filter, of: ledger, reading: reader)
    let limit: Total.Limit? = page.isCutShort ? .lookedAt : page.next == nil ? nil : .counted
    return Total(count: page.deliveries.count, limit: limit)
  }

  /// The lowest number that a delivery received since then can have. Numbers follow commits, and
  /// commits follow arrivals within moments.
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
  /// Whether it changes no account's storage, testers excepted.
  package func canHaveNoEffect(under rules: LedgerRules) -> Bool {
    switch disposition {
    case .foreign, .premature, .undecodable: true
    case .joined, .recorded: environment != rules.grantingEnvironment
    }
  }
}
