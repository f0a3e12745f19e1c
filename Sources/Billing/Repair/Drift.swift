package import Base
package import Ledger
package import Storage
import Stores
package import Subscriptions
import Tiers

/// Checks whether the stored state still follows from the facts. Comparing writes nothing and makes
/// no one wait.
extension Ledger {
  /// The numbers of compared rows, and those that differ from a new derivation.
  package struct Drift: Sendable {
    /// The most that are listed of each kind. A page of at most this size is listed completely.
    package static let listedCountMax = 200

    /// The number of subscriptions.
    package private(set) var checkedCount: Int64 = 0
    package private(set) var checkedScheduleCount: Int64 = 0
    /// The first subscriptions that differ from their facts.
    package private(set) var subscriptions: [ObjectKey] = []
    /// The first accounts whose schedules do not follow from what they own.
    package private(set) var accounts: [Identifier] = []
    package private(set) var differingCount: Int64 = 0

    package init() {}

    fileprivate mutating func add(_ key: ObjectKey, _ isSame: Bool) {
      checkedCount += 1
      guard !isSame else { return }
      differingCount += 1
      if subscriptions.count < Self.listedCountMax { subscriptions.append(key) }
    }

    fileprivate mutating func add(_ account: Identifier, _ isSame: Bool) {
      checkedScheduleCount += 1
      guard !isSame else { return }
      differingCount += 1
      if accounts.count < Self.listedCountMax { accounts.append(account) }
    }
  }

  /// Why the stored state need not follow from the facts.
  package enum Incomparable: Sendable {
    /// It was derived under rules other than this program's.
    case otherRules
    /// Some of it is not yet derived under the rules in force.
    case unfinished
  }

  package func whyIncomparable(reading database: some Queryable) throws -> Incomparable? {
    guard let row = try RulesInForce(reading: database) else { return nil }
    if row.digest != rules.digest { return .otherRules }
    return row.isApplied ? nil : .unfinished
  }

  /// Compares at most `limit` subscriptions after `last`, in the order of their keys. Returns the
  /// last key, or nil if there are no more.
  package func compare(
    _ drift: inout Drift, after last: String, limit: Int, reading reader: Reader
  ) throws -> String? {
    let keys = try reader.rows(
      "SELECT object FROM billing.subscriptions WHERE object > $1 ORDER BY object LIMIT $2",
      .text(last), .integer(limit)
    ) { row in try row.text(0) }
    try compare(&drift, keys, reading: reader)
    return keys.count == limit ? keys.last : nil
  }

  /// Looks for purchases that a store reported but that have no row, among at most `limit` keys
  /// after `last`. Returns the key to continue after, or nil if there are no more.
  package func compareTold(
    _ drift: inout Drift, after last: String, limit: Int, reading reader: Reader
  ) throws -> String? {
    // Keys of one kind and store form a range: `;` comes after `:`.
    let ranges = stores.subscriptionPrefixes.map { ($0, $0.dropLast() + ";") }
    guard let (start, end) = ranges.sorted(by: <).first(where: { last < $0.1 }) else { return nil }
    let rows = try reader.rows(
      """
      SELECT m.object, s.object
      FROM (SELECT DISTINCT object FROM billing.mirrors WHERE object > $1 AND object < $2
        ORDER BY object LIMIT $3) AS m
      LEFT JOIN billing.subscriptions AS s ON s.object = m.object ORDER BY m.object
      """, .text(max(last, start)), .text(String(end)), .integer(limit)
    ) { row in (key: try row.text(0), isThere: try row.optionalText(1) != nil) }
    for case let key? in rows.filter({ !$0.isThere }).map({ ObjectKey($0.key) }) {
      drift.add(key, false)
    }
    return rows.count == limit ? rows.last?.key : String(end)
  }

  /// Compares at most `limit` subscriptions in the order of their owners: from `account` to the
  /// last, then from the first.
  package func compare(
    _ drift: inout Drift, from account: Identifier, limit: Int, reading reader: Reader
  ) throws {
    var keys: [String] = []
    for side in [">=", "<"] {
      keys += try reader.rows(
        """
        SELECT object FROM billing.subscriptions WHERE owner IS NOT NULL AND owner \(side) $1
        ORDER BY owner LIMIT $2
        """, .id(account), .integer(limit - keys.count)
      ) { row in try row.text(0) }
    }
    try compare(&drift, keys, reading: reader)
  }

  /// The accounts after `last` that may have a schedule, in the order of their ids: those that have a
  /// row of one, own a subscription, or were given a grant or a quota.
  package func accounts(
    behind last: Identifier, limit: Int, reading reader: Reader
  ) throws -> [Identifier] {
    var found: Set<Identifier> = []
    for (column, source) in [
      ("account_id", "billing.entitlements WHERE"),
      ("owner", "billing.subscriptions WHERE owner IS NOT NULL AND"),
      ("account_id", "billing.decisions WHERE kind IN ('grant', 'quota') AND"),
    ] {
      found.formUnion(
        try reader.rows(
          "SELECT DISTINCT \(column) FROM \(source) \(column) > $1 ORDER BY \(column) LIMIT $2",
          .id(last), .integer(limit)
        ) { row in try row.id(0) })
    }
    return Array(found.sorted().prefix(limit))
  }

  /// Compares the schedules of accounts with what follows from their subscriptions and decisions.
  package func compare(
    _ drift: inout Drift, schedulesOf accounts: [Identifier], reading reader: Reader
  ) throws {
    let rules = rules.keeping(try SoldPlans.all(reading: reader))
    let (reading, free) = (reading(reader), Schedule.free(rules.catalogue).boundaries)
    for id in accounts {
      let account = try reading.account(id)
      let schedule = Self.schedule(
        try coverages(of: id, reading, under: rules), account.decided, under: rules)
      // Nothing is written for an account that never had an entitlement.
      let stored = account.boundaries.isEmpty ? free : account.boundaries
      drift.add(id, schedule.boundaries == stored)
    }
  }

  /// The refusal of a repair that would lower an account's cap.
  package struct Shrinkage: Error, Sendable {
    package let account: Identifier
    /// The first pair of caps, from now on, of which the second is smaller.
    package let before: Int64
    package let after: Int64
  }

  /// Derives a subscription again, under the servers' rules, and writes what follows from the facts.
  /// Throws a `Shrinkage` if a cap would become smaller, unless `shrinks` allows that.
  package func repair(
    _ key: ObjectKey, shrinks: Bool, at now: Instant, in transaction: Transaction
  ) throws {
    try LedgerSequence.lock(in: transaction)
    let stored = reading(transaction)
    let row = try stored.stored(key).row
    if row == nil {
      stored.memory.keptTransitionCounts[key] = try transaction.first(
        "SELECT coalesce(max(number), 0) FROM billing.transitions WHERE object = $1",
        .text(key.description)
      ) { row in try row.integer(0) }
    }
    let owners = Set(
      [row?.owner, try stored.subscription(key).ownership.account].compactMap { $0 })
    try keepingCaps(of: owners.sorted(), shrinks: shrinks, at: now, in: transaction) {
      try derive([key], stored, cause: .fact, entry: { _ in nil }, at: now, in: transaction)
    }
    // A label that was wrong for its time but is right now is not written again. So the row's time
    // becomes now.
    try transaction.execute(
      "UPDATE billing.subscriptions SET updated_ms = $2 WHERE object = $1",
      .text(key.description), .instant(now))
  }

  /// Does the same for the schedule of an account.
  package func repair(
    scheduleOf account: Identifier, shrinks: Bool, at now: Instant, in transaction: Transaction
  ) throws {
    try LedgerSequence.lock(in: transaction)
    try keepingCaps(of: [account], shrinks: shrinks, at: now, in: transaction) {
      try writeSchedule(of: account, at: now, in: transaction)
    }
  }

  private func keepingCaps(
    of accounts: [Identifier], shrinks: Bool, at now: Instant, in transaction: Transaction,
    _ write: () throws -> Void
  ) throws {
    let free = Schedule.free(rules.keeping(try SoldPlans.all(reading: transaction)).catalogue)
    func held() throws -> [Schedule] {
      try accounts.map { account in
        Schedule(stored: try EntitlementRows.schedule(of: account, reading: transaction)) ?? free
      }
    }
    let before = try held()
    try write()
    guard !shrinks else { return }
    for (account, (old, new)) in zip(accounts, zip(before, try held())) {
      let moments = [now] + (old.boundaries + new.boundaries).map(\.from).filter { $0 > now }
      for moment in moments.sorted() {
        let (had, has) = (old.entry(at: moment).capByteCount, new.entry(at: moment).capByteCount)
        if has < had { throw Shrinkage(account: account, before: had, after: has) }
      }
    }
  }

  private func compare(_ drift: inout Drift, _ keys: [String], reading reader: Reader) throws {
    let rules = rules.keeping(try SoldPlans.all(reading: reader))
    let reading = reading(reader)
    for key in keys.compactMap({ ObjectKey($0) }) {
      guard let row = try reading.stored(key).row, row.rules == rules.digest else { continue }
      let subscription = try reading.subscription(key)
      let coverage = subscription.coverage(policy: rules.policy, catalogue: rules.catalogue)
      let attention = AttentionRows(
        subscription, coverage, traits: try stores.store(of: key).traits, rules: rules)
      var derived = SubscriptionRow(
        subscription, coverage, attention, rules: rules, at: row.updated,
        transitionCount: row.transitionCount)
      // Older versions of the program do not write it.
      derived.rulesChange = row.rulesChange
      drift.add(key, derived.says(theSameAs: row))
    }
  }
}
