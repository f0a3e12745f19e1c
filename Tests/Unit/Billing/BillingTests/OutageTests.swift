import Answers
import Base
import Billing
import HTTPMessages
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
import ProviderFakes
import Storage
import Stores
import Stripe
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// A store that does not answer: while it cannot be read, the passing of time alone takes nothing away.
struct OutageTests {
  @Test(arguments: TestEngine.available)
  func `an outage that began before the leeway was over keeps the plan for a week`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(33))
    #expect(try shop.reason(at: day(30.5)) == "premium leeway")
    #expect(try shop.reason(at: day(33)) == "premium store_unreachable")
    #expect(try shop.reason(at: day(36.99)) == "premium store_unreachable")
    #expect(try shop.reason(at: day(37)) == "free lapsed")
    let label = try shop.subscription(at: day(33)).label
    #expect(label == .active)
  }

  @Test(arguments: TestEngine.available)
  func `the first answer decides: a renewal that was not told`(engine: TestEngine) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(33))
    shop.store.isDown = false
    shop.store.renew()
    try shop.run(until: day(33) + .minutes(20))
    #expect(try shop.reason(at: day(34)) == "premium subscribed")
    #expect(try shop.subscription(at: day(34)).openReads.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `the first answer decides: no renewal`(engine: TestEngine) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(33))
    shop.store.isDown = false
    try shop.run(until: day(33) + .minutes(20))
    #expect(try shop.reason(at: day(34)) == "free lapsed")
    let held = try shop.harness.explanation(shop.customer.account, at: day(34)).held
    #expect(held.last?.reason == .storeUnreachable)
  }

  @Test(arguments: TestEngine.available)
  func `a read that an operator dropped keeps nothing any more`(engine: TestEngine) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(33))
    let (key, ledger) = (try shop.key, shop.ledger)
    let isDropped = try shop.harness.database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.jobs SET dead = 1, due_ms = NULL, lease_until_ms = NULL WHERE object = $1",
        .text(key.description))
      let isDropped = try Jobs.drop(Ledger.readJob, key.description, in: transaction)
      try ledger.noteAnswer(key, at: day(33), in: transaction)
      return isDropped
    }
    #expect(isDropped)
    #expect(try shop.reason(at: day(33)) == "free lapsed")
    #expect(try shop.unansweredCount == 0)
  }

  @Test(arguments: TestEngine.available)
  func `what its store told of, or an account claims, may be lost where it is not read`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    let (known, ledger) = (try shop.key, shop.ledger)
    let unknown = known.sibling(.subscription, "sub_nosuch")
    let account = shop.customer.account
    let isMistaken = try shop.harness.database.write(for: nil) { transaction in
      try Jobs.request(Ledger.readJob, unknown.description, due: day(9), in: transaction)
      let before = try [known, unknown].map {
        try ledger.isUnreported($0, reading: transaction)
      }
      try PendingClaims.add(unknown, for: account, at: day(1), in: transaction)
      return try before + [ledger.isUnreported(unknown, reading: transaction)]
    }
    #expect(isMistaken == [false, true, false])
  }

  @Test(arguments: TestEngine.available)
  func `a read that failed once another had settled its job is no outage`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    let (key, ledger) = (try shop.key, shop.ledger)
    try shop.harness.database.write(for: nil) { transaction in
      try ledger.noteFailedRead(key, at: day(1), in: transaction)
    }
    #expect(try shop.unansweredCount == 0)
    // A row that an earlier version left is deleted at the start.
    try shop.harness.database.write(for: nil) { transaction in
      try transaction.execute(
        "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, 0)", .text(key.description))
    }
    try shop.service.applyRules()
    #expect(try shop.unansweredCount == 0)
  }

  @Test(arguments: TestEngine.available)
  func `what a late reader answered stands, though its successor fails`(
    engine: TestEngine
  ) throws {
    let inTime = try AskingShop(engine)
    try inTime.sell()
    inTime.store.renew()
    let only = try inTime.beginRead(at: day(29))
    try inTime.commit(try inTime.answer(only), of: only)
    let shop = try AskingShop(engine)
    try shop.harness.fill(shop.customer.account, byteCount: 0)
    try shop.sell()
    shop.store.renew()
    let late = try shop.beginRead(at: day(29))
    let answer = try shop.answer(late)
    let successor = try shop.beginRead(at: day(29) + JobRules.leaseTime)
    #expect(successor.readNumber == late.readNumber + 1)
    try shop.commit(answer, of: late)
    #expect(try !shop.fail(successor))
    #expect(try shop.unansweredCount == 0)
    let attention = try shop.attention(at: day(29.5))
    #expect(attention.isEmpty, "\(attention)")
    let schedule = try shop.harness.schedule(shop.customer.account)
    #expect(try schedule == inTime.harness.schedule(inTime.customer.account))
    #expect(schedule.contains("\(day(60)) premium leeway"))
  }

  @Test(arguments: TestEngine.available)
  func `a renewal that nobody told of is asked for when the period ends`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    try shop.run(until: day(29))
    #expect(shop.store.requestCount == 0)
    shop.store.renew()
    try shop.run(until: day(30) + .minutes(1))
    #expect(shop.store.requestCount > 0)
    #expect(try shop.reason(at: day(31)) == "premium subscribed")
  }

  @Test(arguments: TestEngine.available)
  func `a renewal that was told in time is not asked for`(engine: TestEngine) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    try shop.post(shop.customer.invoice(2, "paid", 29.9, from: 30, to: 60))
    try shop.run(until: day(59))
    #expect(shop.store.requestCount == 0)
    try shop.run(until: day(60) + .minutes(1))
    #expect(shop.store.requestCount > 0)
  }

  @Test(arguments: TestEngine.available)
  func `a period that nobody renewed is asked for three times, not for ever`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    try shop.run(until: day(50))
    #expect(shop.store.closureCount == 3)
    let open = try shop.harness.database.read { try Jobs.counts($0) }
    #expect(open.allSatisfy { $0.open == 0 })
  }

  @Test(arguments: TestEngine.available)
  func `an explanation names the read that is open, since when, and what it failed with`(
    engine: TestEngine
  ) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(31))
    let read = try #require(shop.subscription(at: day(31)).openReads.first)
    #expect(read.unansweredSince == day(30))
    #expect(read.attempts > 10)
    #expect(read.lastError == "no connection")
    #expect(try #require(read.due) > day(31))
  }

  @Test(arguments: [(401, .configuration), (400, .object)] as [(Int, APIFailure.Cause)])
  func `a store that refuses is not said to be silent`(
    status: Int, cause: APIFailure.Cause
  ) throws {
    let shop = try AskingShop(.sqlite)
    try shop.sell()
    shop.store.refusal = status
    try shop.run(until: day(30) + .hours(1))
    let explanation = try shop.harness.explanation(shop.customer.account, at: day(31))
    #expect(explanation.subscriptions.first?.openReads.first?.cause == cause)
    #expect(
      explanation.sentences(usedByteCount: 0).last?.hasPrefix(
        "Next, the purchase has to be read from Stripe, which has failed since 2026-01-31 00:00 UTC; "
          + "until that is done, nothing is taken away") == true,
      "\(explanation.sentences(usedByteCount: 0))")
  }

  @Test(arguments: TestEngine.available)
  func `a store that is asked no more has no outage`(engine: TestEngine) throws {
    let shop = try AskingShop(engine)
    try shop.sell()
    shop.store.isDown = true
    try shop.run(until: day(33))
    try shop.harness.service().applyRules()
    #expect(try shop.reason(at: day(33)) == "free lapsed")
  }
}

/// Billing of a shop at a provider that can be read, in virtual time.
private final class AskingShop {
  let harness: Harness
  let customer: Customer
  let store: AskedStore
  let service: BillingService
  let ledger: Ledger
  private let clock = Locked(day0)

  init(_ engine: TestEngine) throws {
    harness = try Harness(engine)
    customer = Customer(tag: harness.tag)
    let store = AskedStore(customer)
    self.store = store
    let clock = clock
    let stores = StoreList.known(
      with: StripeStore(
        secrets: WebhookSecrets([Harness.secret]),
        api: StripeAPI(
          base: AskedStore.base, key: Secret("sk_live_x"), environment: .live, transport: store)))
    let rules = LedgerRules(catalogue: catalogue)
    ledger = Ledger(stores: stores, rules: rules, readable: [.stripe])
    service = BillingService(
      database: harness.database, rules: rules, sealing: Harness.sealing,
      clock: Clock { clock.withLock { $0 } }, stores: stores)
    try service.applyRules()
  }

  var key: ObjectKey {
    get throws { try #require(ObjectKey("stripe:live:subscription:\(customer.subscriptionID)")) }
  }

  var unansweredCount: Int64? {
    get throws {
      try harness.database.read { reader in
        try reader.first("SELECT count(*) FROM billing.unanswered") { row in try row.integer(0) }
      }
    }
  }

  func post(_ event: SampleEvent) throws {
    clock.withLock { $0 = max($0, event.created) }
    let signature = signatureHeader(body: event.body, secret: Harness.secret, at: event.created)
    let status = try harness.post(event.body, signatures: [signature], through: service).status
    #expect(status == 200)
  }

  /// Sells one month, paid and renewing; the store's own objects agree.
  func sell() throws {
    try post(customer.session())
    try post(customer.subscription("created", 0))
    try post(customer.invoice(1, "paid", 0))
    try run(until: day(0.1))
    store.forgetRequests()
  }

  /// Lets time pass and runs each job when it is due.
  func run(until end: Instant) throws {
    while let due = try nextDue, due <= end {
      clock.withLock { $0 = max($0, due) }
      for handler in service.jobHandlers { try run(handler) }
    }
    clock.withLock { $0 = max($0, end) }
  }

  private var nextDue: Instant? {
    get throws {
      try harness.database.read { try Jobs.counts($0) }.compactMap { $0.earliestDue }.min()
    }
  }

  private func run(_ handler: JobHandler) throws {
    let now = clock.withLock { $0 }
    store.now = now
    let leases = try harness.database.write(for: nil) { transaction in
      try Jobs.lease(handler.kind, limit: 10, now: now, in: transaction)
    }
    for lease in leases {
      do throws(JobFailure) {
        let result = try handler.run(lease)
        try written { transaction in _ = try result.commit(lease, now: now, in: transaction) }
      } catch {
        let failure = error
        try harness.database.write(for: nil) { transaction in
          _ = try handler.fail(lease, failure, now: now, in: transaction)
        }
      }
    }
  }

  /// Begins a read of the subscription: one that is due (e.g. after a reader that never came back), or a new
  /// request.
  func beginRead(at now: Instant) throws -> Lease {
    clock.withLock { $0 = max($0, now) }
    store.now = now
    let object = try key.description
    let leases = try harness.database.write(for: nil) { transaction in
      if try Jobs.find(Ledger.readJob, object, reading: transaction)?.due == nil {
        try Jobs.request(Ledger.readJob, object, due: now, in: transaction)
      }
      return try Jobs.lease(Ledger.readJob, limit: 10, now: now, in: transaction)
    }
    try #require(leases.count == 1)
    return leases[0]
  }

  private var reader: JobHandler {
    get throws {
      try #require(service.jobHandlers.first { $0.kind == Ledger.readJob && $0.lanes == 0...0 })
    }
  }

  func answer(_ lease: Lease) throws -> JobResult { try reader.run(lease) }

  func commit(_ answer: JobResult, of lease: Lease) throws {
    let now = clock.withLock { $0 }
    try harness.database.write(for: nil) { transaction in
      _ = try answer.commit(lease, now: now, in: transaction)
    }
  }

  /// Returns whether the job is dead.
  func fail(_ lease: Lease) throws -> Bool {
    let (now, reader) = (clock.withLock { $0 }, try reader)
    return try harness.database.write(for: nil) { transaction in
      try reader.fail(
        lease, .transient("no connection", retryAfter: nil), now: now, in: transaction)
    }
  }

  func attention(at now: Instant) throws -> [Attention] {
    try harness.database.read { reader in
      try AttentionList(at: now, limit: 10, stores: .known, reading: reader)
    }.items
  }

  private func written(
    _ body: @escaping @Sendable (Transaction) throws -> Void
  ) throws(JobFailure) {
    do { try harness.database.write(for: nil, body) } catch { throw .refused("\(error)") }
  }

  func reason(at moment: Instant) throws -> String {
    let current = try harness.explanation(customer.account, at: moment).current
    return "\(current.planID) \(current.reason.rawValue)"
  }

  func subscription(at moment: Instant) throws -> EntitlementExplanation.Subscription {
    try #require(harness.explanation(customer.account, at: moment).subscriptions.first)
  }
}

/// Stripe's API, limited to one subscription's record.
private final class AskedStore: ProviderTransport {
  static let base = "https://stripe.test"

  private struct State {
    var isDown = false
    var refusal: Int?
    var isRenewed = false
    var now = day0
    var paths: [String] = []
  }

  private let customer: Customer
  private let state = Locked(State())

  init(_ customer: Customer) { self.customer = customer }

  var isDown: Bool {
    get { state.withLock { $0.isDown } }
    set { state.withLock { $0.isDown = newValue } }
  }

  /// The status with which it refuses all requests.
  var refusal: Int? {
    get { state.withLock { $0.refusal } }
    set { state.withLock { $0.refusal = newValue } }
  }

  var now: Instant {
    get { state.withLock { $0.now } }
    set { state.withLock { $0.now = newValue } }
  }

  var requestCount: Int { state.withLock { $0.paths.count } }

  /// The number of reads of the subscription itself.
  var closureCount: Int {
    state.withLock { $0.paths.filter { $0.hasPrefix("/v1/subscriptions/") }.count }
  }

  func renew() { state.withLock { $0.isRenewed = true } }

  func forgetRequests() { state.withLock { $0.paths = [] } }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let path = String(request.url.dropFirst(Self.base.count))
    let state = state.withLock { state in
      state.paths.append(path)
      return state
    }
    if state.isDown { throw .transient("no connection", retryAfter: nil) }
    let refused: JSONValue = ["error": ["code": "invalid"]]
    return APIReply(
      status: state.refusal ?? 200, headers: Headers([("Date", state.now.httpDate)]),
      body: (state.refusal == nil ? answer(path, state) : refused).encoded(),
      elapsed: .milliseconds(10))
  }

  private func answer(_ path: String, _ state: State) -> JSONValue {
    let months = state.isRenewed ? 2 : 1
    if path.hasPrefix("/v1/subscriptions/") {
      let last = Double(months - 1) * 30
      return customer.subscription("updated", 0) {
        ($0.from, $0.to) = (day(last), day(last + 30))
      }.object
    }
    if path.hasPrefix("/v1/customers/") {
      return ["id": .string(customer.customerID), "object": "customer"]
    }
    var items: [JSONValue] = []
    if path.hasPrefix("/v1/invoices") {
      items = (0..<months).map { month in
        let from = Double(month * 30)
        return customer.invoice(month + 1, "paid", from, from: from, to: from + 30).object
          .adding(["payments": ["object": "list", "has_more": false, "data": .array([])]])
      }
    }
    return ["object": "list", "has_more": false, "data": .array(items)]
  }
}
