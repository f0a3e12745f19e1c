package import Base
package import Storage
package import Subscriptions

/// How what is stored follows the rules when they change.
extension Ledger {
  /// How many subscriptions or schedules one transaction derives again: few enough to delay nobody.
  private static let sliceCountMax = 200

  /// The rules that the servers derive under; one's own before any has started.
  package func rulesInForce(reading database: some Queryable) throws -> LedgerRules {
    try RulesInForce(reading: database)?.rules(as: rules) ?? rules
  }

  /// Brings everything derived before the last change of rules up to those in force, in slices beside
  /// whoever writes; returns how many subscriptions it derived. One that was broken off goes on.
  ///
  /// Whatever has a schedule is written again: who owns something when it is derived, all others behind it.
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
        // A program of before may have written behind the place: who goes through all and finds none is done.
        if after.isEmpty { break }
        place = ""
        continue
      }
      let now = clock.now()
      let alarms = try database.write(for: nil) { transaction in
        var alarms: [Coverage.Alarm] = []
        try DeliveryRow.lockSequence(in: transaction)
        try derive(keys, cause: .policy, entry: nil, at: now, in: transaction) {
          alarms += $0.newAlarms
        }
        return alarms
      }
      (total, place) = (total + keys.count, end)
      told(total, alarms)
    }
    var last: Identifier?
    repeat {
      let (now, after) = (clock.now(), last)
      last = try database.write(for: nil) { transaction in
        try scheduleOthers(
          after: after, countMax: Self.sliceCountMax, at: now, in: transaction)
      }
    } while last != nil
    try database.write(for: nil) { try RulesInForce.noteApplied(begun.number, in: $0) }
    return total
  }

  /// Finishes what a change of rules left behind: one that was broken off, or one by a server of an earlier
  /// version that started once more. To be called by servers every now and then; returns how many
  /// subscriptions it derived.
  package func followRules(
    on database: Database, clock: Clock, told: (_ alarms: [Coverage.Alarm]) -> Void
  ) throws -> Int {
    if try database.read({ try RulesInForce(reading: $0)?.retaken(by: rules) }) != nil {
      let now = clock.now()
      try database.write(for: nil) { transaction in
        try DeliveryRow.lockSequence(in: transaction)
        _ = try current.find(at: now, in: transaction)
      }
    }
    return try deriveAnew(on: database, clock: clock) { _, alarms in told(alarms) }
  }

  /// Puts these rules in force: from now on every server derives under them.
  package func takeForce(at now: Instant, in transaction: Transaction) throws {
    try RulesInForce.take(rules, at: now, in: transaction)
  }

  /// How many subscriptions `deriveAnew` has to go through.
  package func outdatedCount(reading database: some Queryable) throws -> Int64 {
    guard let inForce = try RulesInForce(reading: database), !inForce.isApplied else { return 0 }
    return try database.first(
      "SELECT count(*) FROM billing.subscriptions WHERE \(Self.isOutdated)",
      .text(inForce.digest), .integer(inForce.number)
    ) { row in try row.integer(0) } ?? 0
  }

  /// A row of the time before the change of that digest and number. Rules that were in force before, and came
  /// back, are another change: meanwhile schedules were written under others, and these left plans behind.
  private static let isOutdated = "(rules_change <> $2 OR rules <> $1)"

  /// The next subscriptions that were derived before the last change, so many as one transaction derives.
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

  /// Writes the schedules again of accounts that own no subscription: what was given to them and
  /// what everybody has follow the catalogue as well. Returns the last of them, nil at the end.
  private func scheduleOthers(
    after last: Identifier?, countMax: Int, at now: Instant, in transaction: Transaction
  ) throws -> Identifier? {
    try DeliveryRow.lockSequence(in: transaction)
    let accounts = try transaction.rows(
      """
      SELECT DISTINCT account_id FROM billing.entitlements WHERE account_id > $1
        AND NOT EXISTS (SELECT 1 FROM billing.subscriptions s
          WHERE s.owner = entitlements.account_id)
      ORDER BY account_id LIMIT $2
      """, last.map { .id($0) } ?? .blob([]), .integer(countMax)
    ) { row in try row.id(0) }
    for account in accounts { try schedule(account, at: now, in: transaction) }
    return accounts.count < countMax ? nil : accounts.last
  }
}
