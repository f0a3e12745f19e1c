package import Base
package import Ledger
package import Storage
import Subscriptions
package import Tiers

/// The differences that another catalogue makes for accounts known to billing, found by deriving under
/// it in memory, account by account.
package struct CatalogueDifference: Sendable {
  /// The first moment, from now on, at which an account's cap differs. If no cap differs, the first
  /// at which its plan or reason does.
  package struct Change: Sendable {
    package let account: Identifier
    package let at: Instant
    package let before: Schedule.Boundary
    package let after: Schedule.Boundary
  }

  package private(set) var accountCount = 0
  package private(set) var lossCount = 0
  package private(set) var gainCount = 0
  /// Accounts whose plan or reason differs while the caps stay the same.
  package private(set) var renamedCount = 0
  /// The first of each kind, at most as many as requested.
  package private(set) var losses: [Change] = []
  package private(set) var gains: [Change] = []

  /// The number of accounts that one snapshot reads, so that no snapshot is open for long.
  private static let pageCount = 200

  /// `listed` is the most changes of each kind to list. `told` receives the number of accounts
  /// after each page.
  package init(
    from ledger: Ledger, to catalogue: Catalogue, of database: Database, at now: Instant,
    listed: Int, told: (Int) -> Void
  ) throws {
    let rules = try Self.rules(ledger, catalogue, database, at: now)
    var last = Identifier?.none
    repeat {
      let after = last
      let page = try database.read { reader in
        let accounts = try Self.accounts(after: after, reader)
        let changes = try accounts.compactMap { account in
          try Self.change(of: account, ledger, rules, at: now, reader)
        }
        return (count: accounts.count, last: accounts.last, changes: changes)
      }
      last = page.count == Self.pageCount ? page.last : nil
      accountCount += page.count
      for change in page.changes { take(change, listed: listed) }
      told(accountCount)
    } while last != nil
  }

  private mutating func take(_ change: Change, listed: Int) {
    if change.after.capByteCount < change.before.capByteCount {
      lossCount += 1
      if losses.count < listed { losses.append(change) }
    } else if change.after.capByteCount > change.before.capByteCount {
      gainCount += 1
      if gains.count < listed { gains.append(change) }
    } else {
      renamedCount += 1
    }
  }

  /// The rules that would be in force, including what was sold before. They are found by storing
  /// the catalogue and rolling that back.
  private static func rules(
    _ ledger: Ledger, _ catalogue: Catalogue, _ database: Database, at now: Instant
  ) throws -> LedgerRules {
    struct Found: Error { let rules: LedgerRules }
    do {
      return try database.write(for: nil) { transaction in
        try LedgerSequence.lock(in: transaction)
        let rules = try ledger.rulesInForce(reading: transaction).replacing(catalogue)
        let before = try RulesInForce(reading: transaction)?.catalogue
        try SoldPlans.keep(catalogue, after: before, at: now, in: transaction)
        throw Found(rules: rules.keeping(try SoldPlans.all(reading: transaction)))
      }
    } catch let found as Found {
      return found.rules
    }
  }

  /// The number of accounts to compare.
  package static func accountCount(reading database: some Queryable) throws -> Int64 {
    try database.first("SELECT count(DISTINCT account_id) FROM billing.entitlements") { row in
      try row.integer(0)
    } ?? 0
  }

  private static func accounts(
    after last: Identifier?, _ reader: Reader
  ) throws -> [Identifier] {
    try reader.rows(
      """
      SELECT DISTINCT account_id FROM billing.entitlements WHERE account_id > $1
      ORDER BY account_id LIMIT $2
      """, last.map { .id($0) } ?? .blob([]), .integer(pageCount)
    ) { row in try row.id(0) }
  }

  /// Nil if nothing changes.
  private static func change(
    of account: Identifier, _ ledger: Ledger, _ rules: LedgerRules, at now: Instant,
    _ reader: Reader
  ) throws -> Change? {
    let reading = ledger.reading(reader)
    let keys = try reader.rows(
      "SELECT object, environment FROM billing.subscriptions WHERE owner = $1 ORDER BY object",
      .id(account)
    ) { row in (try row.text(0), try row.text(1)) }
    let coverages = try keys.filter { rules.grants($0.1, to: account) }
      .compactMap { ObjectKey($0.0) }
      .map { key in
        try reading.subscription(key).coverage(policy: rules.policy, catalogue: rules.catalogue)
      }
    let stored = try reading.account(account)
    guard let before = Schedule(stored: stored.boundaries) else { return nil }
    let after = Ledger.schedule(coverages, stored.decided, under: rules)
    let moments = [now] + (before.boundaries + after.boundaries).map(\.from).filter { $0 > now }
    let changes = Set(moments).sorted().map { moment in
      Change(
        account: account, at: moment, before: before.entry(at: moment),
        after: after.entry(at: moment))
    }
    return changes.first { $0.before.capByteCount != $0.after.capByteCount }
      ?? changes.first {
        $0.before.planID != $0.after.planID || $0.before.reason != $0.after.reason
      }
  }
}
