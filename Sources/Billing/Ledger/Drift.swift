package import Base
package import Storage
internal import Stores
package import Subscriptions
internal import Tiers

/// Whether what is stored still follows from the facts: comparing writes nothing, and nobody waits.
extension Ledger {
  /// What was compared, and what differs from what is derived anew.
  package struct Drift: Sendable {
    /// Of a page of so many all are listed.
    package static let listedCountMax = 200

    /// Of subscriptions.
    package private(set) var checkedCount: Int64 = 0
    package private(set) var checkedScheduleCount: Int64 = 0
    /// Those that say something else than their facts; the first of them.
    package private(set) var subscriptions: [ObjectKey] = []
    /// Those whose schedule does not follow from what they own; the first of them.
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

  /// Why what is stored need not follow from the facts.
  package enum Incomparable: Sendable {
    /// It was derived under rules that are not this program's.
    case otherRules
    /// Not all of it is derived under the rules in force yet.
    case unfinished
  }

  package func whyIncomparable(reading database: some Queryable) throws -> Incomparable? {
    guard let row = try RulesInForce(reading: database) else { return nil }
    if row.digest != rules.digest { return .otherRules }
    return row.isApplied ? nil : .unfinished
  }

  /// Compares the subscriptions behind one in the order of their keys, at most `limit`; the last key, nil
  /// where these were the last.
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

  /// Compares what the accounts from one on own, and behind the last those from the first on, at most `limit`
  /// subscriptions.
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

  /// The accounts behind one of which anything may follow for what they store, in the order of their ids.
  ///
  /// Rows of a schedule may be missing, and others be left over: so it is whoever has one of them, owns
  /// something, or was given something.
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

  /// Compares the schedules of accounts with what follows from what they own and were given.
  package func compare(
    _ drift: inout Drift, schedulesOf accounts: [Identifier], reading reader: Reader
  ) throws {
    let rules = rules.keeping(try SoldPlans.all(reading: reader))
    let (reading, free) = (reading(reader), Schedule.free(rules.catalogue).boundaries)
    for id in accounts {
      let account = try reading.account(id)
      let schedule = Self.schedule(
        try coverages(of: id, reading, under: rules), account.decided, under: rules)
      // Nothing is written for an account that was never owed anything.
      let stored = account.boundaries.isEmpty ? free : account.boundaries
      drift.add(id, schedule.boundaries == stored)
    }
  }

  /// Derives what is listed again, and writes what follows from the facts. The rules must be the servers'.
  package func repair(_ drift: Drift, at now: Instant, in transaction: Transaction) throws {
    try DeliveryRow.lockSequence(in: transaction)
    try derive(drift.subscriptions, cause: .fact, entry: nil, at: now, in: transaction)
    // A label that was wrong for its time, and is right by now, is not written again: it is of now then.
    for key in drift.subscriptions {
      try transaction.execute(
        "UPDATE billing.subscriptions SET updated_ms = $2 WHERE object = $1",
        .text(key.description), .instant(now))
    }
    for account in drift.accounts { try schedule(account, at: now, in: transaction) }
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
      // Programs of before do not write it.
      derived.rulesChange = row.rulesChange
      drift.add(key, derived.says(theSameAs: row))
    }
  }
}
