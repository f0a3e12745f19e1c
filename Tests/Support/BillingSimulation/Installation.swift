package import Answers
package import Base
import Billing
import ClaimingDevice
package import Configuration
import Crypto
import Endpoints
package import Flows
import HTTPMessages
package import JSON
package import Jobs
import KnownStores
package import Ledger
package import ProviderFakes
import Repair
import Simulation
package import Storage
package import Stores
package import Subscriptions
package import TestEngines
package import Tiers

/// Billing over a real database, run step by step in virtual time; it can crash and restart.
package final class Installation {
  package private(set) var database: Database
  private var service: BillingService
  private var server: DirectServer
  private let scratch: ScratchDatabase
  private let clock = Locked(Instant(seconds: 0))
  private let stores: (Clock) -> StoreList
  private let policies: Policies

  /// The operator's policies.
  package struct Policies {
    package var refundAnswers = RefundAnswers.off
    package var deletion = DeletionPolicy.periodEnd

    package init() {}
  }

  private static let sealing: SealingKeys = {
    do { return try SealingKeys([Secret([UInt8](repeating: 7, count: 32))]) } catch {
      preconditionFailure("\(error)")
    }
  }()

  package struct Unsettled: Error, CustomStringConvertible {
    package let description = "the jobs never settle"
  }

  package init(
    _ engine: TestEngine, with policies: Policies = Policies(),
    _ stores: @escaping (Clock) -> StoreList
  ) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    self.stores = stores
    self.policies = policies
    database = try Database.open(scratch.location, owning: .billing)
    service = Self.service(database, clock, stores, policies)
    server = Self.server(service)
  }

  deinit { database.close() }

  private static func service(
    _ database: Database, _ clock: Locked<Instant>, _ stores: (Clock) -> StoreList,
    _ policies: Policies
  ) -> BillingService {
    let clock = Clock { clock.withLock { $0 } }
    return BillingService(
      database: database, rules: LedgerRules(catalogue: simulationCatalogue), sealing: sealing,
      clock: clock, stores: stores(clock), clients: ClaimingDevice.policy,
      refundAnswers: policies.refundAnswers, deleting: policies.deletion)
  }

  private static func server(_ service: BillingService) -> DirectServer {
    DirectServer(service.routes(), authority: "billing") { problem(for: $0, $1) }
  }

  package var location: DatabaseLocation { scratch.location }

  /// The result of a statement that counts.
  package func count(_ sql: String) throws -> Int64 {
    try database.read { reader in try reader.first(sql) { row in try row.integer(0) } } ?? -1
  }

  /// The installation's time, for users that advance it.
  package var time: Locked<Instant> { clock }

  package var now: Instant {
    get { clock.withLock { $0 } }
    set { clock.withLock { $0 = newValue } }
  }

  /// The process dies: committed data stays, leases included, and everything else is lost.
  package func crash() throws {
    database.close()
    database = try Database.open(scratch.location, owning: .billing)
    service = Self.service(database, clock, stores, policies)
    server = Self.server(service)
  }

  /// Takes one delivery; returns the status of the answer.
  package func deliver(_ request: FakeRequest) throws -> Int {
    try server.answer(
      request.method, request.path, headers: request.headers.map { ($0.name, $0.value) },
      body: request.body
    ).status
  }

  /// Posts a claim from a device of the account; returns the status of the answer.
  package func post(_ claim: JSONValue, by account: Identifier) throws -> Int {
    let device = try ClaimingDevice(of: account, scratch.location)
    return try device.claim(claim, at: now, through: service.routes()).status
  }

  /// Sends a PUT request from a device of the account; returns the answer.
  package func put(
    _ target: String, _ body: JSONValue, by account: Identifier
  ) throws -> (status: Int, json: JSON) {
    try put(target, bytes: body.encoded(), by: account)
  }

  /// Sends a PUT request with any body.
  package func put(
    _ target: String, bytes: [UInt8], by account: Identifier
  ) throws -> (status: Int, json: JSON) {
    let device = try ClaimingDevice(of: account, scratch.location)
    return try device.put(target, bytes, at: now, through: service.routes())
  }

  package func decide(_ body: @escaping @Sendable (Ledger, Transaction, Instant) throws -> Void)
    throws
  {
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
    let now = self.now
    try database.write(for: nil) { transaction in try body(ledger, transaction, now) }
  }

  /// Makes another catalogue the one of record while the service runs, as `coffer plan apply` does.
  package func apply(_ catalogue: Catalogue) throws {
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue), for: .command)
    let now = self.now
    try database.write(for: nil) { transaction in
      let before = try CatalogueOfRecord.find(reading: transaction)
      try CatalogueOfRecord.put(catalogue, after: before, at: now, in: transaction)
      try ledger.takeForce(at: now, in: transaction)
    }
    _ = try ledger.deriveAnew(on: database, clock: .fixed(now)) { _, _ in }
  }

  /// The rows that do not follow from the facts, as reported to an operator; empty if all do.
  package func drift() throws -> [String] {
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
    var drift = Ledger.Drift()
    var last: String? = ""
    while let after = last {
      last = try database.read { reader in
        try ledger.compare(&drift, after: after, limit: 100, reading: reader)
      }
    }
    var told = Ledger.Drift()
    last = ""
    while let after = last {
      last = try database.read { reader in
        try ledger.compareTold(&told, after: after, limit: 100, reading: reader)
      }
    }
    try database.read { reader in
      var last = Identifier(high: 0, low: 0)
      while true {
        let accounts = try ledger.accounts(behind: last, limit: 100, reading: reader)
        guard let end = accounts.last else { return }
        try ledger.compare(&drift, schedulesOf: accounts, reading: reader)
        last = end
      }
    }
    let count = try database.read { reader in
      try reader.first("SELECT count(*) FROM billing.subscriptions") { try $0.integer(0) } ?? 0
    }
    guard drift.checkedCount == count else {
      return ["\(drift.checkedCount) of \(count) subscriptions were compared"]
    }
    return (told.subscriptions + drift.subscriptions).map(\.description)
      + drift.accounts.map(\.description)
  }

  // MARK: jobs

  /// A read between its lease and its commit.
  package struct Reading {
    package let handler: JobHandler
    package let lease: Lease
    package let result: Result<JobResult, JobFailure>
  }

  /// Leases the jobs that are due and asks the provider. The answers are not committed yet.
  package func beginReads(limit: Int = 1) throws -> [Reading] {
    let now = self.now
    return try service.jobHandlers.flatMap { handler in
      let leases = try database.write(for: nil) { transaction in
        try Jobs.lease(handler.kind, limit: limit, now: now, in: transaction)
      }
      return leases.map { lease in
        do throws(JobFailure) {
          return Reading(handler: handler, lease: lease, result: .success(try handler.run(lease)))
        } catch {
          return Reading(handler: handler, lease: lease, result: .failure(error))
        }
      }
    }
  }

  package func commit(_ reading: Reading) throws {
    let now = self.now
    switch reading.result {
    case .success(let result):
      do {
        let committed = try database.write(for: nil) { transaction in
          try result.commit(reading.lease, now: now, in: transaction).committed
        }
        committed()
      } catch let error as DatabaseError where !error.isOfDatabase {
        try fail(reading, .refused("\(error)"))
      }
    case .failure(let failure): try fail(reading, failure)
    }
  }

  private func fail(_ reading: Reading, _ failure: JobFailure) throws {
    let now = self.now
    try database.write(for: nil) { transaction in
      _ = try reading.handler.fail(reading.lease, failure, now: now, in: transaction)
    }
  }

  /// Runs the transaction of an account's request.
  package func ask<Value: Sendable>(
    _ body: @escaping @Sendable (Flows, Transaction, Instant) throws -> Value
  ) throws -> Value {
    let (flows, now) = (service.flows, self.now)
    return try database.write(for: nil) { transaction in try body(flows, transaction, now) }
  }

  /// The action that a flow requests from its client.
  package func action(of flow: Flow) -> ClientAction? { flow.action(Self.sealing) }

  package func reread(_ keys: [ObjectKey]) throws {
    let service = self.service
    try database.write(for: nil) { transaction in
      for key in keys { try service.reread(key, in: transaction) }
    }
  }

  /// When the next job is due, for a clock that nothing else moves. Expected renewals do not count, because
  /// the fakes' stores renew for ever.
  package var nextDue: Instant? {
    get throws {
      try database.read { try Jobs.counts($0) }.filter { $0.kind != "renewal" }
        .compactMap { $0.earliestDue }.min()
    }
  }

  /// Runs the jobs that are due, and those that become due at once.
  package func runDue() throws {
    for _ in 0..<50 {
      let readings = try beginReads(limit: 10)
      if readings.isEmpty { return }
      for reading in readings { try commit(reading) }
    }
    throw Unsettled()
  }

  /// Advances time until no job is left; fails after more than `countMax` reads.
  package func settle(countMax: Int = 500) throws {
    var count = 0
    while let due = try nextDue {
      now = max(now, due) + .seconds(1)
      for reading in try beginReads(limit: 10) {
        try commit(reading)
        count += 1
      }
      if count > countMax { throw Unsettled() }
      // A lease that a crash left behind has to expire first.
      if try nextDue == due { now = now + JobRules.leaseTime }
    }
  }

  /// Compares everything with the stores' reports, to the end.
  package func reconcile(isWhole: Bool = true) throws {
    try beginReconciling(isWhole: isWhole)
    try settle(countMax: 5000)
  }

  package func beginReconciling(isWhole: Bool = true) throws {
    let now = self.now
    let providers = stores(Clock { now }).filter { $0.isReadable }.map { $0.provider }
    try database.write(for: nil) { transaction in
      for provider in providers {
        try Reconciliation.begin(of: provider, isWhole: isWhole, at: now, in: transaction)
        try Reconciliation.request(of: provider, at: now, in: transaction)
      }
    }
  }

  /// Does the work of the program's start.
  package func beginRounds() throws { try service.beginRounds() }

  /// The overview that the account's devices read.
  package func overview(of account: Identifier) throws -> JSON {
    let now = self.now
    let ledger = Ledger(
      stores: stores(Clock { now }), rules: LedgerRules(catalogue: simulationCatalogue))
    let told = try database.read { try ledger.overview(of: account, at: now, reading: $0).json }
    return try JSON.parse(told.encoded())
  }

  /// The sentences that support could send to an account that stores nothing.
  package func sentences(for account: Identifier) throws -> [String] {
    let now = self.now
    return try database.read { reader in
      try EntitlementExplanation(
        of: account, at: now, catalogue: simulationCatalogue, stores: .known, reading: reader)
    }.sentences(usedByteCount: 0)
  }

  /// The items that need attention.
  package func attention() throws -> [Attention] {
    let now = self.now
    return try database.read { reader in
      try AttentionList(at: now, limit: 1000, stores: .known, reading: reader).items
    }
  }

  /// The results of reconciliations, newest first.
  package func reconciliations() throws -> [Reconciliation] {
    try database.read {
      try Reconciliation.all(of: nil, after: nil, limit: 100, reading: $0)
    }
  }

  /// The repairs by reconciliations, newest first, with their effects.
  package func repairs() throws -> [(repair: RepairedDifference, effect: DeliveryEffect?)] {
    let now = self.now
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: simulationCatalogue))
    return try database.read { reader in
      try RepairedDifference.all(of: nil, after: nil, limit: 1000, reading: reader).map { repair in
        (repair, try repair.effect(at: now, ledger: ledger, reading: reader))
      }
    }
  }

  // MARK: what was derived

  /// Coverage, label, owner and schedule of everything, as rows.
  package func digest() throws -> [String] {
    try database.read { reader in
      try reader.rows(
        """
        SELECT object, owner, environment, label_without_access, will_renew, coverage
        FROM billing.subscriptions ORDER BY object
        """
      ) { row in
        let owner = try row.optionalID(1)?.description ?? "nobody"
        return "\(try row.text(0)) of \(owner) \(try row.text(2)) \(try row.text(3)) "
          + "\(try row.integer(4)) \(owed(try row.text(5)))"
      }
        + (try reader.rows(
          """
          SELECT account_id, from_ms, cap_bytes, plan, reason FROM billing.entitlements
          ORDER BY account_id, from_ms
          """
        ) { row in
          "\(try row.id(0)) \(try row.integer(1)) \(try row.integer(2)) \(try row.text(3)) "
            + "\(try row.text(4))"
        })
    }
  }

  /// A coverage without its alarms, which depend on what was received and not only on what is owed.
  private func owed(_ coverage: String) -> Substring {
    let end = "],\"alarms\""
    return coverage.split(separator: end).first ?? coverage[...]
  }

  package var keys: [ObjectKey] {
    get throws {
      try database.read { reader in
        try reader.rows("SELECT object FROM billing.subscriptions ORDER BY object") { row in
          try row.text(0)
        }
      }.compactMap { ObjectKey($0) }
    }
  }
}
