package import Base
package import Jobs
package import Storage
package import Subscriptions

/// Makes what is stored follow the rules when they change.
extension Ledger {
  /// The number of subscriptions or schedules that one transaction derives again: few enough to delay no one.
  private static let sliceCountMax = 200

  /// The rules under which the servers derive; before any has started, this program's own.
  package func rulesInForce(reading database: some Queryable) throws -> LedgerRules {
    try RulesInForce(reading: database)?.rules(as: rules) ?? rules
  }

  /// Derives under the rules in force everything that was derived before their last change, and writes
  /// every schedule again. It works in slices while others write, and continues a run that was
  /// interrupted. Returns the number of subscriptions that it derived.
  package func deriveAnew(
    on database: Database, clock: Clock, told: (_ count: Int, _ alarms: [Coverage.Alarm]) -> Void
  ) throws -> Int {
    guard let begun = try database.read({ try RulesInForce(reading: $0) }), !begun.isApplied else {
      return 0
    }
    var (total, place) = (0, "")
    while true {
      let after = place
      let keys = try database.read { try outdated(after: after, reading: $0) }
      guard let end = keys.last?.description else {
        // An older program may have written rows that were already passed. Only a pass from the
        // start that finds none is the last.
        if after.isEmpty { break }
        place = ""
        continue
      }
      let alarms = try eachOrAlone(keys.map { ($0.description, $0) }, on: database, clock) {
        keys, now, transaction in
        var alarms: [Coverage.Alarm] = []
        try derive(keys, cause: .policy, entry: nil, at: now, in: transaction) {
          alarms += $0.newAlarms
        }
        return alarms
      }
      (total, place) = (total + keys.count, end)
      told(total, alarms)
    }
    // Owners' schedules were written with their subscriptions.
    var last: Identifier?
    repeat {
      let after = last
      let accounts = try database.read { try others(after: after, reading: $0) }
      _ = try eachOrAlone(accounts.map { ($0.description, $0) }, on: database, clock) {
        accounts, now, transaction in
        for account in accounts { try writeSchedule(of: account, at: now, in: transaction) }
        return []
      }
      last = accounts.count < Self.sliceCountMax ? nil : accounts.last
    } while last != nil
    try database.write(for: nil) { try RulesInForce.noteApplied(begun.number, in: $0) }
    return total
  }

  /// The kind of the jobs that derive one subscription, or write one account's schedule, after that
  /// failed in its slice of a change of rules. Nothing else waits for it.
  package static let deriveJob = "derive"

  /// Does a slice in one transaction. If that fails because of an item, each item has its own transaction.
  /// Those that fail again become jobs, which are retried, listed by attention and revived like all others.
  private func eachOrAlone<Item: Sendable>(
    _ items: [(name: String, item: Item)], on database: Database, _ clock: Clock,
    _ work: @escaping @Sendable ([Item], Instant, Transaction) throws -> [Coverage.Alarm]
  ) throws -> [Coverage.Alarm] {
    func done(_ items: [Item]) throws -> [Coverage.Alarm] {
      let now = clock.now()
      return try database.write(for: nil) { transaction in
        try LedgerSequence.lock(in: transaction)
        return try work(items, now, transaction)
      }
    }
    do { return try done(items.map(\.item)) } catch  where !error.isOfDatabase {
      var alarms: [Coverage.Alarm] = []
      for (name, item) in items {
        do { alarms += try done([item]) } catch  where !error.isOfDatabase {
          let (now, reason) = (clock.now(), "\(error)")
          try database.write(for: nil) { transaction in
            try Jobs.request(Self.deriveJob, name, due: now, in: transaction)
          }
          Log.error("billing.cannot_derive", ["object": name, "reason": reason])
        }
      }
      return alarms
    }
  }

  /// Handles the jobs that derive, one by one, what failed in a change of rules.
  package func deriveHandler(_ clock: Clock) -> JobHandler {
    JobHandler(Self.deriveJob) { lease in
      let now = clock.now()
      return JobResult(
        writes: { transaction in
          try LedgerSequence.lock(in: transaction)
          if let key = ObjectKey(lease.object) {
            try derive([key], cause: .policy, entry: nil, at: now, in: transaction)
          } else if let account = Identifier(lease.object) {
            try writeSchedule(of: account, at: now, in: transaction)
          }
        })
    }
  }

  /// Completes a change of rules that was interrupted, or that was made by a server of an earlier
  /// version that started once more. Servers call it from time to time. Returns the number of
  /// subscriptions that it derived.
  package func followRules(
    on database: Database, clock: Clock, told: (_ alarms: [Coverage.Alarm]) -> Void
  ) throws -> Int {
    if try database.read({ try RulesInForce(reading: $0)?.retaken(by: rules) }) != nil {
      let now = clock.now()
      try database.write(for: nil) { transaction in
        try LedgerSequence.lock(in: transaction)
        _ = try current.find(at: now, in: transaction)
      }
    }
    return try deriveAnew(on: database, clock: clock) { _, alarms in told(alarms) }
  }

  /// Puts these rules in force: from now on, every server derives under them.
  package func takeForce(at now: Instant, in transaction: Transaction) throws {
    try RulesInForce.take(rules, at: now, in: transaction)
  }

  /// The number of subscriptions that `deriveAnew` has to go through.
  package func outdatedCount(reading database: some Queryable) throws -> Int64 {
    guard let inForce = try RulesInForce(reading: database), !inForce.isApplied else { return 0 }
    return try database.first(
      "SELECT count(*) FROM billing.subscriptions WHERE \(Self.isOutdated)",
      .text(inForce.digest), .integer(inForce.number)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Matches rows derived before the change with that digest and number. Rules that come back after
  /// others are a new change: schedules were written under the others meanwhile, and these left
  /// plans behind. A row with a job of its own is left to that job.
  private static let isOutdated = """
    (rules_change <> $2 OR rules <> $1)
      AND NOT EXISTS (SELECT 1 FROM billing.jobs AS j WHERE j.kind = '\(deriveJob)'
        AND j.object = subscriptions.object AND (j.due_ms IS NOT NULL OR j.dead = 1))
    """

  /// The next subscriptions that were derived before the last change, as many as one transaction derives.
  private func outdated(after last: String, reading reader: Reader) throws -> [ObjectKey] {
    guard let inForce = try RulesInForce(reading: reader) else { return [] }
    return try reader.rows(
      """
      SELECT object FROM billing.subscriptions
      WHERE object > $3 AND \(Self.isOutdated) ORDER BY object LIMIT $4
      """, .text(inForce.digest), .integer(inForce.number), .text(last),
      .integer(Self.sliceCountMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// The next accounts that own no subscription and have a schedule. What was given to them, and
  /// what every account has, follow the catalogue as well.
  private func others(after last: Identifier?, reading reader: Reader) throws -> [Identifier] {
    try reader.rows(
      """
      SELECT DISTINCT account_id FROM billing.entitlements WHERE account_id > $1
        AND NOT EXISTS (SELECT 1 FROM billing.subscriptions s
          WHERE s.owner = entitlements.account_id)
      ORDER BY account_id LIMIT $2
      """, last.map { .id($0) } ?? .blob([]), .integer(Self.sliceCountMax)
    ) { row in try row.id(0) }
  }
}
