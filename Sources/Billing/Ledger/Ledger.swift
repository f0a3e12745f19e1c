package import Base
internal import Jobs
package import Storage
package import Stores
package import Subscriptions
internal import Tiers

/// Records deliveries and decisions and derives everything else from them, in a storage transaction.
///
/// Any order and any repetition of the same deliveries leaves the same derived rows.
package struct Ledger: Sendable {
  let stores: StoreList
  /// As configured; what is in force may be another server's.
  package let rules: LedgerRules
  /// Whose API can be asked: what the others' objects need is noted and waits.
  private let readable: Set<ObjectKey.Provider>
  /// Whether apps are told of changes; nil: the database knows.
  private let tellsApps: Bool?
  let current: CurrentRules
  let currentCatalogue = CurrentCatalogue()
  private let knownTerms = KnownTerms()
  private let notedProofs = NotedProofs()

  package init(
    stores: StoreList, rules: LedgerRules, readable: Set<ObjectKey.Provider> = [],
    for deriver: Deriver = .server, tellsApps: Bool? = nil
  ) {
    self.tellsApps = tellsApps
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
  package func isReadable(_ key: ObjectKey) -> Bool {
    guard readable.contains(key.provider), let traits = stores[key.provider]?.traits else {
      return false
    }
    return !traits.hasOneEnvironment || key.environment == rules.grantingEnvironment
  }

  /// The kind of the jobs that read an object again.
  package static let readJob = "read"

  /// Keeps one delivery or answer and merges what it says.
  ///
  /// Re-runnable: no effect but through the transaction.
  package func record(
    _ delivery: PreparedDelivery, in transaction: Transaction
  ) throws -> Recorded {
    try record([delivery], in: transaction)[0]
  }

  /// Keeps deliveries that came together, in their order, and merges what they say; a subscription
  /// that several speak of is derived once.
  package func record(
    _ deliveries: [PreparedDelivery], in transaction: Transaction
  ) throws -> [Recorded] {
    guard let now = deliveries.map(\.received).max() else { return [] }
    let first = try DeliveryRow.takeNumbers(deliveries.count, in: transaction)
    let stored = readingFacts(transaction)
    var merged: [Merged] = []
    for (index, delivery) in deliveries.enumerated() {
      merged.append(
        try merge(delivery, number: first + Int64(index), stored, in: transaction))
    }
    try noteProofs(of: &merged, in: transaction)
    try derive(&merged, stored, at: now, in: transaction)
    try addOwners(to: &merged, stored)
    return try merged.map { try settle($0, stored, in: transaction) }
  }

  /// A delivery whose facts are joined, before what follows from them.
  private struct Merged {
    let delivery: PreparedDelivery
    var recorded: Recorded
    /// The subscriptions that it can change.
    var keys: [ObjectKey] = []
    /// What it has read again.
    var asked: [ObjectKey] = []
  }

  private func merge(
    _ delivery: PreparedDelivery, number: Int64, _ stored: LedgerReading,
    in transaction: Transaction
  ) throws -> Merged {
    let row = try DeliveryRow(inserting: delivery, as: number, in: transaction)
    var merged = Merged(delivery: delivery, recorded: Recorded(delivery: delivery, row: row))
    for (request, payload) in zip(delivery.decoded.requests, delivery.requestPayloads) {
      for object in try Affected.read(about: request.object, stored) {
        try keep(request.about(object), payload: payload, delivery, id: row.id, in: transaction)
        merged.asked.append(object)
      }
    }
    if let question = delivery.decoded.refundQuestion, !row.isRedelivery {
      try keep(question, delivery, in: transaction)
    }
    guard delivery.decoded.disposition == .joined else {
      try keepTerms(of: &merged, row, in: transaction)
      return merged
    }
    var changed: [Fact] = []
    for (fact, content) in zip(delivery.decoded.facts, delivery.contents) {
      let change = try stored.join(fact, content: content, delivery: row.id, in: transaction)
      if change.rankFell { merged.recorded.rankFell = true }
      var isNew = change.isNew
      for link in fact.links where try link.write(delivery: row.id, in: transaction) {
        isNew = true
      }
      if isNew { changed.append(fact) }
    }
    merged.keys = try Affected.subscriptions(by: changed, stored)
    // A read that told nothing new has nothing new to be found by.
    if !changed.isEmpty || !delivery.decoded.isAnswer {
      try keepTerms(of: &merged, row, in: transaction)
    }
    return merged
  }

  /// Writes what the delivery's objects are found by, where it came for the first time and nothing of it
  /// was written lately.
  private func keepTerms(
    of merged: inout Merged, _ row: DeliveryRow, in transaction: Transaction
  ) throws {
    guard !row.isRedelivery, merged.delivery.decoded.disposition != .foreign else { return }
    for term in merged.delivery.terms where !knownTerms.contains(term) {
      try term.write(in: transaction)
      merged.recorded.terms.append(term)
    }
  }

  /// Writes what proved them, of equal proofs the last.
  private func noteProofs(of merged: inout [Merged], in transaction: Transaction) throws {
    var seen: Set<String> = []
    for index in merged.indices.reversed() {
      let delivery = merged[index].delivery
      guard let proof = delivery.proof,
        let row = notedProofs.due(delivery.decoded.provider, proof, at: delivery.received),
        seen.insert("\(row.provider.rawValue) \(proof)").inserted
      else { continue }
      try row.write(in: transaction)
      merged[index].recorded.proof = row
    }
  }

  /// To be called once the deliveries are durable: what they are found and proven by is not written
  /// again.
  package func noteDurable(_ recorded: [Recorded]) {
    knownTerms.insert(recorded.flatMap(\.terms))
    for proof in recorded.compactMap(\.proof) { notedProofs.insert(proof) }
  }

  /// Derives what the deliveries changed; what is found is told of the last that changed it, and
  /// whether storage follows from it of each.
  private func derive(
    _ merged: inout [Merged], _ stored: LedgerReading, at now: Instant,
    in transaction: Transaction
  ) throws {
    var changes: [ObjectKey: [Int]] = [:]
    for (index, one) in merged.enumerated() {
      for key in one.keys { changes[key, default: []].append(index) }
    }
    var lastOf: [Identifier: Int] = [:]
    var ofTheGone: Set<Int> = []
    let double = try derive(
      changes.keys.sorted(), stored, cause: .fact,
      entry: { key in changes[key]?.last.map { merged[$0].recorded.number } }, at: now,
      in: transaction
    ) { derivation in
      let environment = derivation.key.environment.rawValue
      let grants = derivation.accounts.contains { rules.grants(environment, to: $0) }
      let indices = changes[derivation.key] ?? []
      if derivation.ownership.evidence == .deletedAccount {
        ofTheGone.formUnion(indices)
      }
      for index in indices {
        merged[index].recorded.add(derivation, raisesAlarms: index == indices.last)
        if grants { merged[index].recorded.grants = true }
      }
      for account in derivation.accounts { lastOf[account] = indices.last }
    }
    try closeQuietly(
      ofTheGone.sorted().map { (merged[$0].recorded.number, merged[$0].delivery.terms) },
      in: transaction)
    for index in ofTheGone { merged[index].recorded.terms = [] }
    for account in double {
      if let index = lastOf[account] { merged[index].recorded.add(payingTwice: account) }
    }
  }

  /// Adds who owns what those deliveries speak of that changed nothing yet: of all by one statement.
  private func addOwners(to merged: inout [Merged], _ stored: LedgerReading) throws {
    var spokenOf: [Int: [ObjectKey]] = [:]
    for (index, one) in merged.enumerated() where one.keys.isEmpty {
      let facts = one.delivery.decoded.disposition == .joined ? one.delivery.decoded.facts : []
      let keys = try one.asked + Affected.few(of: facts, stored)
      if !keys.isEmpty { spokenOf[index] = keys }
    }
    let owners = try stored.owners(of: Set(spokenOf.values.joined()))
    for (index, keys) in spokenOf {
      for key in keys {
        if let owner = owners[key] { merged[index].recorded.add(concerned: owner) }
      }
    }
  }

  /// Has read what a merged delivery leaves open.
  private func settle(
    _ merged: Merged, _ stored: LedgerReading, in transaction: Transaction
  ) throws -> Recorded {
    let (delivery, decoded) = (merged.delivery, merged.delivery.decoded)
    var recorded = merged.recorded
    if decoded.disposition == .joined {
      let dangling = try decoded.facts.filter { fact in
        try fact.searched != nil && Affected.subscriptions(by: [fact], stored).isEmpty
      }
      for request in decoded.unsettled(
        recorded.dirty, unexplained: recorded.unexplained, unknown: recorded.unknown,
        dangling: dangling)
      {
        try keep(request, payload: nil, delivery, id: recorded.number, in: transaction)
      }
    }
    if let environment = decoded.environment, environment != rules.grantingEnvironment,
      !recorded.grants, !decoded.isAnswer
    {
      recorded.isOfOtherEnvironment = true
    }
    return recorded
  }

  /// Notes that an object must be read again, and has it read where its provider can be asked.
  private func keep(
    _ request: ReadRequest, payload: [UInt8]?, _ delivery: PreparedDelivery, id: Int64,
    in transaction: Transaction
  ) throws {
    let traits = try stores.store(of: request.object).traits
    let wasAsked =
      try request.isOnce
      && transaction.first(
        "SELECT delivery FROM billing.read_requests WHERE object = $1 AND reason = $2 LIMIT 1",
        .text(request.object.description), .text(request.reason)
      ) { row in try row.integer(0) } != nil
    try transaction.execute(
      """
      INSERT INTO billing.read_requests (object, delivery, reason) VALUES ($1, $2, $3)
      ON CONFLICT (object, delivery, reason) DO NOTHING
      """, .text(request.object.description), .integer(id), .text(request.reason))
    guard isReadable(request.object) else { return }
    let object = request.object.description
    if request.isFirstOnly || wasAsked,
      try Jobs.find(Self.readJob, object, reading: transaction) != nil
    {
      return
    }
    try Jobs.request(
      Self.readJob, object, payload: payload, due: delivery.received + request.delay,
      settleAfter: traits.hasClock ? delivery.decoded.settledBy(received: delivery.received) : nil,
      confirmations: traits.confirmationCount, lane: request.isClaim ? 1 : 0,
      trace: delivery.trace, in: transaction)
  }

  /// The kind of the jobs that answer what stores ask before a refund.
  package static let refundQuestionJob = "refund_question"

  /// Has a store's question answered, as the operator and the customer would have it.
  private func keep(
    _ question: RefundQuestion, _ delivery: PreparedDelivery, in transaction: Transaction
  ) throws {
    let payment = question.payment
    guard let span = try stores.store(of: payment).traits.refundAnswerSpan else { return }
    let asked = min(delivery.decoded.created ?? delivery.received, delivery.received)
    try RefundQuestionRow.ask(payment, asked: asked, until: asked + span, in: transaction)
    try Jobs.request(
      Self.refundQuestionJob, payment.description, payload: delivery.questionPayload,
      due: delivery.received, trace: delivery.trace, in: transaction)
  }

  /// Has a purchase read that only clients know of, when its place among them comes; nothing else is
  /// kept of it before.
  package func requestProof(
    of key: ObjectKey, payload: [UInt8]?, lane: Int, trace: TraceContext? = nil, at now: Instant,
    in transaction: Transaction
  ) throws {
    guard readable.contains(key.provider) else { return }
    let confirmations = try stores.store(of: key).traits.confirmationCount
    try Jobs.request(
      Self.readJob, key.description, payload: payload, due: now, confirmations: confirmations,
      lane: lane, trace: trace, in: transaction)
  }

  /// What became of the wish to have something read.
  package enum Asked: Sendable {
    case asked
    /// Its store is never asked, for want of a key.
    case withoutKey
    /// It is read by a secret that only its store and who bought it know.
    case withoutToken
  }

  /// The subscriptions that an object is known to belong to.
  package func subscriptions(
    of object: ObjectKey, reading database: any Queryable
  ) throws -> [ObjectKey] {
    let kind = try stores.store(of: object).traits.subscriptionKind
    return try Affected.read(about: object, reading(database)).filter { $0.kind == kind }
  }

  /// Has a subscription or purchase read as soon as may be, also one of which nothing is known.
  /// `payload` is the sealed secret that it is read by, where it was told anew; `reason` is for the reader
  /// (`StoreRead.Known`); `isShallow` as for `Jobs.request`.
  package func read(
    _ key: ObjectKey, payload: [UInt8]? = nil, because reason: String? = nil,
    isShallow: Bool = false, at now: Instant, in transaction: Transaction
  ) throws -> Asked {
    guard isReadable(key) else { return .withoutKey }
    let object = key.description
    if try stores.store(of: key).traits.readsBySecret, payload == nil,
      try Jobs.find(Self.readJob, object, reading: transaction) == nil
    {
      return .withoutToken
    }
    if let reason {
      // No delivery asks, and none has that number.
      try transaction.execute(
        """
        INSERT INTO billing.read_requests (object, delivery, reason) VALUES ($1, 0, $2)
        ON CONFLICT (object, delivery, reason) DO NOTHING
        """, .text(object), .text(reason))
    }
    try Jobs.request(
      Self.readJob, object, payload: payload, due: now, isShallow: isShallow, in: transaction)
    return .asked
  }

  /// When the answer came of the last read of an object that is kept; nil where there is none.
  package static func lastRead(
    of key: ObjectKey, reading database: some Queryable
  ) throws -> Instant? {
    guard let job = try Jobs.find(readJob, key.description, reading: database) else { return nil }
    return try database.first(
      """
      SELECT received_ms FROM billing.deliveries
      WHERE provider = $1 AND environment = $2 AND delivery_id = $3 ORDER BY id DESC LIMIT 1
      """, .text(key.provider.rawValue), .text(key.environment.rawValue),
      .text(DecodedDelivery.answerID(to: job.committed, of: key))
    ) { row in try row.instant(0) }
  }

  /// Derives subscriptions and writes the schedules of the accounts that follow them.
  func derive(
    _ keys: [ObjectKey], cause: Derivation.Cause, entry: Int64?, at now: Instant,
    in transaction: Transaction, each: (Derivation) -> Void = { _ in }
  ) throws {
    try derive(
      keys, reading(transaction), cause: cause, entry: { _ in entry }, at: now, in: transaction,
      each: each)
  }

  /// Returns the accounts that now pay twice and did not before.
  @discardableResult
  func derive(
    _ keys: [ObjectKey], _ stored: LedgerReading, cause: Derivation.Cause,
    entry: (ObjectKey) -> Int64?, at now: Instant, in transaction: Transaction,
    each: (Derivation) -> Void
  ) throws -> [Identifier] {
    guard !keys.isEmpty else { return [] }
    let rules = try current.find(at: now, in: transaction)
    var accounts: Set<Identifier> = []
    var concerned: Set<Identifier> = []
    for key in keys {
      let derivation = try Derivation(
        of: key, stored, cause: cause, entry: entry(key), rules: rules, at: now, in: transaction)
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
      try schedule(account, stored, under: rules, at: now, in: transaction)
    }
  }

  /// Has accounts looked at of which apps may have to be told something.
  private func tellApps(
    of accounts: [Identifier], at now: Instant, in transaction: Transaction
  ) throws {
    guard tellsApps ?? true, !accounts.isEmpty else { return }
    if tellsApps == nil, try Notices.receiver(reading: transaction) == nil { return }
    for account in accounts { try Notices.request(account, at: now, in: transaction) }
  }

  /// Writes an account's schedule as it follows from what is stored.
  func schedule(_ account: Identifier, at now: Instant, in transaction: Transaction) throws {
    try schedule(
      account, reading(transaction), under: try current.find(at: now, in: transaction), at: now,
      in: transaction)
  }

  /// What an account may store over time: what its subscriptions and grants owe, or what was set
  /// instead.
  static func schedule(
    _ coverages: [Coverage], _ decided: [Decided], under rules: LedgerRules
  ) -> Schedule {
    let grants = Grant.active(among: decided).map { $0.coverage }
    return Schedule(coverages + grants, catalogue: rules.catalogue)
      .overridden(by: QuotaOverride.all(among: decided).map(\.override))
  }

  /// Writes an account's schedule from what its subscriptions and grants owe; returns whether it
  /// began to pay twice.
  @discardableResult
  private func schedule(
    _ account: Identifier, _ stored: LedgerReading, under rules: LedgerRules, at now: Instant,
    in transaction: Transaction
  ) throws -> Bool {
    let coverages = try coverages(of: account, stored, under: rules)
    let before = try stored.account(account)
    let schedule = Self.schedule(coverages, before.decided, under: rules)
    try EntitlementRows.write(
      schedule, over: before.boundaries, of: account, unknown: .free(rules.catalogue), at: now,
      in: transaction)
    try UnknownAccount.note(account, schedule, at: now, in: transaction)
    try tellApps(of: [account], at: now, in: transaction)
    stored.memory.accounts[account]?.boundaries = schedule.boundaries
    let paid = coverages.filter { coverage in
      let why = coverage.entry(at: now)?.why
      return why == .subscribed || why == .contested
    }
    if paid.count < 2, before.boundaries.isEmpty { return false }
    return try DoublePayment.note(account, isDouble: paid.count > 1, at: now, in: transaction)
  }

  /// What those subscriptions of an account owe that count for it.
  func coverages(
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
