package import Base
package import Storage
package import Tiers

/// The accounts' usage and caps at one moment, added up account by account.
package struct StorageFigures: Sendable {
  package struct Sum: Sendable, Equatable {
    package fileprivate(set) var accountCount: Int64 = 0
    package fileprivate(set) var usageByteCount: Int64 = 0
    /// Accounts above their cap, and by how much.
    package fileprivate(set) var overCapAccountCount: Int64 = 0
    package fileprivate(set) var overCapByteCount: Int64 = 0
  }

  package private(set) var total = Sum()
  /// By current plan.
  package private(set) var plans: [String: Sum] = [:]
  /// Accounts that were opened in `opened`.
  package private(set) var openedCount: Int64 = 0

  private let now: Instant
  private let opened: Range<Instant>
  private let free: Plan
  private var last: Identifier? = Identifier(high: 0, low: 0)

  private static let pageCount = 1000

  package init(at now: Instant, opened: Range<Instant>, _ catalogue: Catalogue) {
    self.now = now
    self.opened = opened
    free = catalogue.free
  }

  /// Adds the next page of accounts. Returns false after the last.
  package mutating func readPage(_ reader: Reader) throws -> Bool {
    guard let after = last else { return false }
    var count = 0
    var end = after
    try reader.query(
      """
      SELECT a.id, a.usage_bytes, a.created_ms, e.cap_bytes, e.plan FROM sync.accounts a
      LEFT JOIN billing.entitlements e ON e.account_id = a.id AND e.from_ms =
        (SELECT max(from_ms) FROM billing.entitlements WHERE account_id = a.id AND from_ms <= $2)
      WHERE a.id > $1 ORDER BY a.id LIMIT $3
      """, [.id(after), .instant(now), .integer(Self.pageCount)]
    ) { row in
      end = try row.id(0)
      count += 1
      if opened.contains(try row.instant(2)) { openedCount += 1 }
      add(
        try row.integer(1), cap: try row.optionalInteger(3) ?? free.byteCount,
        plan: try row.optionalText(4) ?? free.id)
      return true
    }
    last = count == Self.pageCount ? end : nil
    return count > 0
  }

  private mutating func add(_ usage: Int64, cap: Int64, plan: String) {
    let over = max(0, usage - cap)
    func note(_ sum: inout Sum) {
      sum.accountCount += 1
      sum.usageByteCount = sum.usageByteCount.addingClamped(usage)
      if over > 0 { sum.overCapAccountCount += 1 }
      sum.overCapByteCount = sum.overCapByteCount.addingClamped(over)
    }
    note(&total)
    note(&plans[plan, default: Sum()])
  }
}
