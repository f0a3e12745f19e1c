package import Base
package import Storage
package import Subscriptions
package import Tiers

extension Ledger {
  /// Derives subscriptions and writes the schedules of the accounts that depend on them.
  package func derive(
    _ keys: [ObjectKey], cause: Derivation.Cause, entry: Int64?, at now: Instant,
    in transaction: Transaction, each: (Derivation) -> Void = { _ in }
  ) throws {
    try derive(
      keys, reading(transaction), cause: cause, entry: { _ in entry }, at: now, in: transaction,
      each: each)
  }

  /// Returns the accounts that now pay twice and did not before.
  @discardableResult
  package func derive(
    _ keys: [ObjectKey], _ stored: LedgerReading, cause: Derivation.Cause,
    entry: (ObjectKey) -> Int64?, at now: Instant, in transaction: Transaction,
    each: (Derivation) -> Void = { _ in }
  ) throws -> [Identifier] {
    guard !keys.isEmpty else { return [] }
    let rules = try current.find(at: now, in: transaction)
    var accounts: Set<Identifier> = []
    var concerned: Set<Identifier> = []
    for key in keys {
      let derivation = try Derivation(
        of: key, stored, cause: cause, entry: entry(key), rules: rules, at: now)
      try derivation.write(in: transaction)
      stored.memory.note(derivation)
      accounts.formUnion(derivation.accounts)
      concerned.formUnion(
        derivation.accounts.union([derivation.ownership.account].compactMap { $0 }))
      try expectRenewal(of: key, derivation.coverage, at: now, in: transaction)
      if derivation.awaitsAcknowledgement {
        try requireAcknowledgement(of: key, at: now, in: transaction)
      }
      each(derivation)
    }
    try tellApps(of: concerned.subtracting(accounts).sorted(), at: now, in: transaction)
    return try accounts.sorted().filter { account in
      try writeSchedule(of: account, stored, under: rules, at: now, in: transaction)
    }
  }

  /// Requests a check of accounts about which apps may need a notice.
  private func tellApps(
    of accounts: [Identifier], at now: Instant, in transaction: Transaction
  ) throws {
    guard !accounts.isEmpty,
      try tellsApps ?? (Notices.receiver(reading: transaction) != nil)
    else { return }
    for account in accounts { try Notices.request(account, at: now, in: transaction) }
  }

  /// Writes an account's schedule as it follows from what is stored.
  package func writeSchedule(
    of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    try writeSchedule(
      of: account, reading(transaction), under: try current.find(at: now, in: transaction), at: now,
      in: transaction)
  }

  /// An account's schedule: what its subscriptions and grants owe, or the quota that was set instead.
  package static func schedule(
    _ coverages: [Coverage], _ decided: [Decided], under rules: LedgerRules
  ) -> Schedule {
    let grants = Grant.active(among: decided).map { $0.coverage }
    return Schedule(coverages + grants, catalogue: rules.catalogue)
      .overridden(by: QuotaOverride.all(among: decided).map(\.override))
  }

  /// Writes an account's schedule from what its subscriptions and grants owe. Returns whether the
  /// account began to pay twice.
  @discardableResult
  private func writeSchedule(
    of account: Identifier, _ stored: LedgerReading, under rules: LedgerRules, at now: Instant,
    in transaction: Transaction
  ) throws -> Bool {
    let coverages = try coverages(of: account, stored, under: rules)
    let before = try stored.account(account)
    let schedule = Self.schedule(coverages, before.decided, under: rules)
    try EntitlementRows.write(
      schedule, over: before.boundaries, of: account, unknown: .free(rules.catalogue), at: now,
      in: transaction)
    try noteUnknown(account, schedule, at: now, in: transaction)
    try tellApps(of: [account], at: now, in: transaction)
    stored.memory.accounts[account]?.boundaries = schedule.boundaries
    // An addition counts beside any plan, so it is never paid in vain.
    let paid = coverages.filter { coverage in
      coverage.intervals.contains {
        $0.contains(now) && ($0.why == .subscribed || $0.why == .contested)
          && !rules.catalogue.isAddition($0.planID)
      }
    }
    if paid.count < 2, before.boundaries.isEmpty { return false }
    return try noteDoublePayment(of: account, paid.count > 1, at: now, in: transaction)
  }

  /// Records that something is paid for an account that does not exist: its app names another one
  /// to the store, or one of another installation. This is shown only while the account does not
  /// exist, because it may be opened later.
  private func noteUnknown(
    _ account: Identifier, _ schedule: Schedule, at now: Instant, in transaction: Transaction
  ) throws {
    guard let end = schedule.boundaries.last?.from, end > now else {
      try transaction.execute(
        "DELETE FROM billing.unknown_accounts WHERE account_id = $1", .id(account))
      return
    }
    let exists = try transaction.first(
      "SELECT 1 FROM sync.accounts WHERE id = $1", .id(account)
    ) { _ in true }
    guard exists == nil else { return }
    try transaction.execute(
      """
      INSERT INTO billing.unknown_accounts (account_id, since_ms, until_ms) VALUES ($1, $2, $3)
      ON CONFLICT (account_id) DO UPDATE SET until_ms = excluded.until_ms
      """, .id(account), .instant(now), .instant(end))
  }

  /// Records whether an account pays at once for more than one subscription of which only one
  /// counts. Returns whether it began to.
  private func noteDoublePayment(
    of account: Identifier, _ isDouble: Bool, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard isDouble else {
      try transaction.execute(
        "DELETE FROM billing.double_payments WHERE account_id = $1", .id(account))
      return false
    }
    return try transaction.execute(
      """
      INSERT INTO billing.double_payments (account_id, since_ms) VALUES ($1, $2)
      ON CONFLICT (account_id) DO NOTHING
      """, .id(account), .instant(now)) > 0
  }

  /// The coverages of an account's subscriptions that count for it.
  package func coverages(
    of account: Identifier, _ stored: LedgerReading, under rules: LedgerRules
  ) throws -> [Coverage] {
    let owned = try stored.database.rows(
      """
      SELECT object, environment, coverage FROM billing.subscriptions
      WHERE owner = $1 ORDER BY object
      """, .id(account)
    ) { row in (try row.text(0), try row.text(1), try row.text(2)) }
    return try owned.filter { rules.grants($0.1, to: account) }.map { object, _, text in
      try ObjectKey(object).flatMap { stored.memory.coverages[$0] } ?? Coverage(text: text)
    }
  }
}
