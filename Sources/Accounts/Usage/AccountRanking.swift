package import Base
package import Storage
package import Tiers

/// Accounts in an order, or with a filter, for which there is no index. Every account is read once, page by page, and
/// the first few are kept. Its time grows with the number of accounts, so only operators may use it.
package struct AccountRanking {
  package enum Order: String, CaseIterable, Sendable {
    /// Oldest first.
    case created
    /// Largest usage first.
    case usage
    /// Most content bytes sent and received in this month (UTC) first.
    case traffic
    /// Accounts above their cap, the furthest above first.
    case overCap = "over-cap"
  }

  /// Which accounts to include; every condition must hold.
  package struct Filter: Sendable {
    package var plan: String?
    package var isOverCap: Bool
    package var isSuspended: Bool

    package init(plan: String?, isOverCap: Bool, isSuspended: Bool) {
      (self.plan, self.isOverCap, self.isSuspended) = (plan, isOverCap, isSuspended)
    }

    /// Whether every account is included.
    package var isOpen: Bool { plan == nil && !isOverCap && !isSuspended }
  }

  /// An account's rank: higher keys come first, then lower ids.
  private struct Place: Comparable {
    let key: Int64
    let id: Identifier

    static func < (a: Place, b: Place) -> Bool { a.key == b.key ? a.id < b.id : a.key > b.key }
  }

  /// The kept accounts after the start, in order.
  package var accounts: [Identifier] { kept.map(\.id) }
  /// The number of matching accounts, both before and after the start.
  package private(set) var count: Int64 = 0
  package private(set) var readCount: Int64 = 0

  private let order: Order
  private let filter: Filter
  private let now: Instant
  private let free: Plan
  private let keptCountMax: Int
  private var start: Place?
  private var kept: [Place] = []
  private var last: Identifier? = Identifier(high: 0, low: 0)

  private static let pageCount = 1000

  /// Keeps at most `countMax` accounts after `after`; nil starts at the first.
  package init(
    _ order: Order, _ filter: Filter, behind after: Identifier?, keeping countMax: Int,
    _ catalogue: Catalogue, at now: Instant, reading reader: Reader
  ) throws {
    self.order = order
    self.filter = filter
    self.now = now
    free = catalogue.free
    keptCountMax = countMax
    guard let after else { return }
    try read(reader, "a.id = $1", after, limit: 1) { start = $0.place(in: order) }
  }

  /// Whether the catalogue has a plan, or an account has or had it.
  package static func knows(
    _ plan: String, _ catalogue: Catalogue, reading reader: Reader
  ) throws -> Bool {
    if catalogue.plan(plan) != nil { return true }
    return try reader.hasRow(
      "SELECT 1 FROM billing.entitlements WHERE plan = $1 LIMIT 1", .text(plan))
  }

  /// Reads the next page of accounts. Returns false after the last.
  package mutating func readPage(_ reader: Reader) throws -> Bool {
    guard let after = last else { return false }
    var rows: [Row] = []
    try read(reader, "a.id > $1", after, limit: Self.pageCount) { rows.append($0) }
    for row in rows where row.counts(in: order, filter) { take(row.place(in: order)) }
    readCount += Int64(rows.count)
    last = rows.count == Self.pageCount ? rows.last?.id : nil
    return !rows.isEmpty
  }

  private mutating func take(_ place: Place) {
    count += 1
    if let start, place <= start { return }
    if kept.count == keptCountMax {
      guard let end = kept.last, place < end else { return }
      kept.removeLast()
    }
    var (low, high) = (0, kept.count)
    while low < high {
      let middle = (low + high) / 2
      if kept[middle] < place { low = middle + 1 } else { high = middle }
    }
    kept.insert(place, at: low)
  }

  private struct Row {
    let id: Identifier
    let created: Instant
    let usage: Int64
    /// Whether an operator suspended it. A deletion suspends it as well, and keeps that.
    let isSuspended: Bool
    let cap: Int64
    let plan: String
    let traffic: Int64

    func place(in order: Order) -> Place {
      let key =
        switch order {
        case .created: -created.milliseconds
        case .usage: usage
        case .traffic: traffic
        case .overCap: usage.subtractingClamped(cap)
        }
      return Place(key: key, id: id)
    }

    func counts(in order: Order, _ filter: Filter) -> Bool {
      if let plan = filter.plan, plan != self.plan { return false }
      if filter.isSuspended, !isSuspended { return false }
      return usage > cap || !filter.isOverCap && order != .overCap
    }
  }

  private func read(
    _ reader: Reader, _ which: String, _ id: Identifier, limit: Int, _ body: (Row) -> Void
  ) throws {
    try reader.query(
      """
      SELECT a.id, a.created_ms, a.usage_bytes,
        CASE WHEN d.account_id IS NULL THEN a.suspended_ms ELSE d.suspended_ms END,
        e.cap_bytes, e.plan, coalesce(t.sent_bytes + t.received_bytes, 0)
      FROM sync.accounts a
      LEFT JOIN sync.account_deletions d ON d.account_id = a.id
      LEFT JOIN billing.entitlements e ON e.account_id = a.id AND e.from_ms =
        (SELECT max(from_ms) FROM billing.entitlements WHERE account_id = a.id AND from_ms <= $2)
      LEFT JOIN sync.transfers t ON t.owner_id = a.id AND t.month = $3
      WHERE \(which) ORDER BY a.id LIMIT $4
      """, [.id(id), .instant(now), .integer(now.month), .integer(Int64(limit))]
    ) { row in
      body(
        Row(
          id: try row.id(0), created: try row.instant(1), usage: try row.integer(2),
          isSuspended: try row.optionalInstant(3) != nil,
          cap: try row.optionalInteger(4) ?? free.byteCount,
          plan: try row.optionalText(5) ?? free.id, traffic: try row.integer(6)))
      return true
    }
  }
}
