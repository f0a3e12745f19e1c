package import Base
internal import Jobs
package import Storage
package import Stores
package import Subscriptions
internal import Tiers

/// Records sources and decisions and derives everything else from them, in a storage transaction.
///
/// Any order and any repetition of the same sources leaves the same derived rows.
package struct Ledger: Sendable {
  let stores: StoreList
  /// As configured; what is in force may be another server's.
  package let rules: LedgerRules
  /// Whose API can be asked: what the others' objects need is noted and waits.
  private let readable: Set<ObjectKey.Provider>
  private let current: CurrentRules

  package init(
    stores: StoreList, rules: LedgerRules, readable: Set<ObjectKey.Provider> = [],
    for deriver: Deriver = .server
  ) {
    self.stores = stores
    self.rules = rules
    self.readable = readable
    current = CurrentRules(rules, for: deriver)
  }

  /// Throws a `ConfigurationError` unless the servers derive under these rules, or none ever ran.
  package func requireServersRules(reading database: some Queryable) throws {
    try current.requireServers(reading: database)
  }

  /// Whether its store can be asked of it.
  func isReadable(_ key: ObjectKey) -> Bool {
    guard readable.contains(key.provider), let traits = stores[key.provider]?.traits else {
      return false
    }
    return !traits.hasOneEnvironment || key.partition == rules.grantingPartition
  }

  /// The kind of the jobs that read an object again.
  package static let readJob = "read"

  /// Keeps one delivery or answer and merges what it says.
  ///
  /// Re-runnable: no effect but through the transaction.
  package func record(
    _ source: PreparedSource, in transaction: Transaction
  ) throws -> Recorded {
    let row = try SourceRow(inserting: source, in: transaction)
    var recorded = Recorded(source: source, row: row)
    for (hint, payload) in zip(source.decoded.hints, source.hintPayloads) {
      for object in try Affected.read(about: hint.object, reading(transaction)) {
        try need(hint.about(object), payload: payload, source, id: row.id, in: transaction)
      }
    }
    if source.decoded.disposition == .joined {
      try merge(source, id: row.id, in: transaction, &recorded)
    }
    if let partition = source.decoded.partition, partition != rules.grantingPartition,
      !recorded.grants, !source.decoded.isAnswer
    {
      recorded.isOfOtherMode = true
    }
    return recorded
  }

  /// Notes that an object must be read again, and has it read where its provider can be asked.
  private func need(
    _ hint: DecodedSource.Hint, payload: [UInt8]?, _ source: PreparedSource, id: Int64,
    in transaction: Transaction
  ) throws {
    let traits = try stores.store(of: hint.object).traits
    let wasAsked =
      try hint.isOnce
      && transaction.first(
        "SELECT source_id FROM billing.hints WHERE object = $1 AND reason = $2 LIMIT 1",
        .text(hint.object.description), .text(hint.reason)
      ) { row in try row.integer(0) } != nil
    try transaction.execute(
      """
      INSERT INTO billing.hints (object, source_id, reason) VALUES ($1, $2, $3)
      ON CONFLICT (object, source_id, reason) DO NOTHING
      """, .text(hint.object.description), .integer(id), .text(hint.reason))
    guard isReadable(hint.object) else { return }
    let object = hint.object.description
    if hint.isFirstOnly || wasAsked,
      try Jobs.find(Self.readJob, object, reading: transaction) != nil
    {
      return
    }
    try Jobs.need(
      Self.readJob, object, payload: payload, due: source.received + hint.delay,
      settleAfter: traits.hasClock ? source.decoded.settledBy(received: source.received) : nil,
      confirmations: traits.confirmationCount, turn: hint.isClaim ? 1 : 0,
      in: transaction)
  }

  /// Has a purchase read that only clients know of, when its turn among them comes; nothing else is
  /// kept of it before.
  package func needProof(
    of key: ObjectKey, payload: [UInt8]?, turn: Int, at now: Instant, in transaction: Transaction
  ) throws {
    guard readable.contains(key.provider) else { return }
    let confirmations = try stores.store(of: key).traits.confirmationCount
    try Jobs.need(
      Self.readJob, key.description, payload: payload, due: now, confirmations: confirmations,
      turn: turn, in: transaction)
  }

  /// What became of the wish to have something read.
  package enum Asked: Sendable {
    case asked
    /// Its store is never asked, for want of a key.
    case withoutKey
    /// It is read by a secret that only its store and who bought it know.
    case withoutToken
  }

  /// Has a subscription or purchase read as soon as may be, also one of which nothing is known.
  package func read(
    _ key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws -> Asked {
    guard isReadable(key) else { return .withoutKey }
    let object = key.description
    if try stores.store(of: key).traits.readsBySecret,
      try Jobs.find(Self.readJob, object, reading: transaction) == nil
    {
      return .withoutToken
    }
    try Jobs.need(Self.readJob, object, due: now, in: transaction)
    return .asked
  }

  private func merge(
    _ source: PreparedSource, id: Int64, in transaction: Transaction, _ recorded: inout Recorded
  ) throws {
    let stored = reading(transaction)
    var changed: [Fact] = []
    for (fact, content) in zip(source.decoded.facts, source.contents) {
      let change = try stored.join(fact, content: content, source: id, in: transaction)
      if change.rankFell { recorded.rankFell = true }
      var isNew = change.isNew
      for link in fact.links where try link.write(source: id, in: transaction) { isNew = true }
      if isNew { changed.append(fact) }
    }
    let keys = try Affected.subscriptions(by: changed, stored)
    let double = try derive(
      keys, cause: .fact, source: id, at: source.received, in: transaction
    ) { derivation in
      recorded.add(derivation)
      let realm = derivation.key.partition.rawValue
      if derivation.accounts.contains(where: { rules.grants(realm, to: $0) }) {
        recorded.grants = true
      }
    }
    recorded.add(payingTwice: double)
    let dangling = try source.decoded.facts.filter { fact in
      try fact.searched != nil && Affected.subscriptions(by: [fact], stored).isEmpty
    }
    for hint in source.decoded.unsettled(
      recorded.dirty, unknown: recorded.unknown, dangling: dangling)
    {
      try need(hint, payload: nil, source, id: id, in: transaction)
    }
  }

  /// Derives subscriptions and writes the schedules of the accounts that follow them.
  ///
  /// Returns the accounts that now pay twice and did not before.
  @discardableResult
  func derive(
    _ keys: [ObjectKey], cause: Derivation.Cause, source: Int64?, at now: Instant,
    in transaction: Transaction, each: (Derivation) -> Void
  ) throws -> [Identifier] {
    guard !keys.isEmpty else { return [] }
    let rules = try current.find(at: now, in: transaction)
    var accounts: Set<Identifier> = []
    for key in keys {
      let derivation = try Derivation(
        try reading(transaction).subscription(key), cause: cause, source: source, rules: rules,
        at: now, in: transaction)
      accounts.formUnion(derivation.accounts)
      try expectRenewal(of: key, derivation.coverage, at: now, in: transaction)
      if derivation.awaitsAcknowledgement {
        try requireAcknowledgement(of: key, at: now, in: transaction)
      }
      each(derivation)
    }
    return try accounts.sorted().filter { account in
      try schedule(account, under: rules, at: now, in: transaction)
    }
  }

  /// Writes an account's schedule as it follows from what is stored.
  func schedule(_ account: Identifier, at now: Instant, in transaction: Transaction) throws {
    try schedule(
      account, under: try current.find(at: now, in: transaction), at: now, in: transaction)
  }

  /// Writes an account's schedule from what its subscriptions and grants owe; returns whether it
  /// began to pay twice.
  @discardableResult
  private func schedule(
    _ account: Identifier, under rules: LedgerRules, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    let owed = try transaction.rows(
      "SELECT realm, coverage FROM billing.subscriptions WHERE owner = $1 ORDER BY object",
      .id(account)
    ) { row in (try row.text(0), try row.text(1)) }
    let coverages = try owed.compactMap { realm, text in
      rules.grants(realm, to: account) ? try Coverage(text: text) : nil
    }
    let grants = try Grant.standing(of: account, reading: transaction).map { $0.coverage }
    try EntitlementRows.write(
      Schedule(coverages + grants, catalogue: rules.catalogue), of: account,
      unknown: .free(rules.catalogue), at: now, in: transaction)
    let paid = coverages.filter { coverage in
      let why = coverage.entry(at: now)?.why
      return why == .subscribed || why == .contested
    }
    return try DoublePayment.note(account, isDouble: paid.count > 1, at: now, in: transaction)
  }
}

/// That an account pays for more than one subscription at once.
private enum DoublePayment {
  /// Returns whether it is new.
  static func note(
    _ account: Identifier, isDouble: Bool, at now: Instant, in transaction: Transaction
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
}
