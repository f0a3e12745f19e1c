import Answers
import Base
import Billing
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

struct DeliveryPageTests {
  /// Sixty deliveries, one minute apart: every third is of another type, every fifth is foreign.
  private static func filled(_ engine: TestEngine) throws -> Harness {
    let harness = try Harness(engine)
    try harness.database.write(for: nil) { transaction in
      for number in 1...60 {
        try transaction.execute(
          """
          INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
            object, received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
          VALUES ($1, 'stripe', 'live', $2, $3, $4, $5, $6, 3, $7, 0, 0, $3)
          """, .integer(number), .text("evt_\(number)"), .blob([1]),
          .text(number % 3 == 0 ? "rare" : "common"), .text("in_\(number % 4)"),
          .instant(day0 + .minutes(Int64(number))),
          .text(number % 5 == 0 ? "foreign" : "recorded"))
      }
      try transaction.execute("UPDATE billing.sequence SET last_number = 60 WHERE id = 1")
    }
    return harness
  }

  private static func numbers(
    of harness: Harness, _ change: (inout DeliveryFilter) -> Void
  ) throws -> [Int64] {
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    var filter = DeliveryFilter()
    filter.countMax = 7
    change(&filter)
    var numbers: [Int64] = []
    for _ in 0..<100 {
      let page = try harness.database.read {
        try DeliveryPage(filter, of: ledger, reading: $0)
      }
      #expect(page.deliveries.count <= filter.countMax)
      numbers += page.deliveries.map(\.number)
      guard let next = page.next else { break }
      filter.below = next
    }
    return numbers
  }

  @Test(arguments: TestEngine.available)
  func `pages follow one another, the newest first, whatever is asked for`(
    engine: TestEngine
  ) throws {
    let harness = try Self.filled(engine)
    let all = (1...60).reversed().map { Int64($0) }
    #expect(try Self.numbers(of: harness) { _ in } == all)
    #expect(try Self.numbers(of: harness) { $0.type = "rare" } == all.filter { $0 % 3 == 0 })
    #expect(try Self.numbers(of: harness) { $0.provider = .stripe } == all)
    #expect(
      try Self.numbers(of: harness) { $0.isWithoutEffect = true } == all.filter { $0 % 5 == 0 })
    #expect(
      try Self.numbers(of: harness) {
        $0.isWithoutEffect = true
        $0.type = "rare"
      } == all.filter { $0 % 15 == 0 })
    #expect(
      try Self.numbers(of: harness) { $0.since = day0 + .minutes(50) } == Array(all.prefix(11)))
    #expect(try Self.numbers(of: harness) { $0.provider = ObjectKey.Provider("nobody") } == [])
  }

  @Test(arguments: TestEngine.available)
  func `all that is wanted is counted on whichever page, up to a limit`(engine: TestEngine) throws {
    let harness = try Self.filled(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    var filter = DeliveryFilter()
    (filter.type, filter.below, filter.countMax) = ("rare", 12, 2)
    try harness.database.read { reader in
      let all = try DeliveryPage.total(filter, of: ledger, reading: reader)
      #expect(all.count == 20 && all.limit == nil)
      let exact = try DeliveryPage.total(filter, of: ledger, countMax: 20, reading: reader)
      #expect(exact.count == 20 && exact.limit == nil)
      let more = try DeliveryPage.total(filter, of: ledger, countMax: 19, reading: reader)
      #expect(more.count == 19 && more.limit == .counted)
    }
  }

  @Test(arguments: TestEngine.available)
  func `an account's are all that speak of its subscriptions, also what is outdated`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let (customer, other) = (Customer(tag: harness.tag), Customer(tag: "other"))
    try harness.post(other.session())
    try harness.post(other.subscription("created", 0))
    try harness.post(customer.session())
    try harness.post(customer.subscription("created", 0))
    try harness.post(customer.invoice(1, "paid", 0))
    try harness.post(customer.subscription("updated", 3))
    #expect(try Self.numbers(of: harness) { $0.account = customer.account } == [6, 5, 4, 3])
  }

  @Test(arguments: TestEngine.available)
  func `a delivery is named by its number, and by an id with or without its webhook's`(
    engine: TestEngine
  ) throws {
    let harness = try Self.filled(engine)
    try harness.database.write(for: nil) { transaction in
      for (number, id) in [(61, "w1:d1"), (62, "w2:d2"), (63, "w2:d3"), (64, "8")] {
        try transaction.execute(
          """
          INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
            received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
          VALUES ($1, 'btcpay', 'live', $2, $3, 'InvoiceSettled', 0, 3, 'recorded', 0, 0, $3)
          """, .integer(Int64(number)), .text(id), .blob([1]))
      }
    }
    for (text, numbers) in [
      ("evt_7", [7]), ("7", [7]), ("#7", [7]), ("d1", [61]), ("d3", [63]), ("w2:d2", [62]),
      ("8", [64]), ("#8", [8]), ("99", []), ("w2", []), ("#d1", []), ("", []),
    ] as [(String, [Int64])] {
      let found = try harness.database.read { reader in
        try DeliverySummary.named(text, of: Array(StoreList.known), reading: reader)
      }
      #expect(found.map(\.number) == numbers, "\(text)")
    }
  }

  @Test(arguments: TestEngine.available)
  func `what a renewal, and a plan that grew, changed of what is owed is kept with them`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    let renewal = customer.invoice(2, "paid", 30, from: 30, to: 60)
    try harness.post(renewal)
    try harness.post(renewal)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    func effect(_ number: Int64) throws -> DeliveryEffect {
      try harness.database.read { reader in
        let delivery = try #require(try DeliverySummary.find(number: number, reading: reader))
        return try DeliveryEffect(of: delivery, at: day(31), ledger: ledger, reading: reader)
      }
    }
    let paid = try #require(try effect(4).owed.first)
    #expect(try effect(4).changes.isEmpty && effect(4).owed.count == 1)
    #expect(paid.subscription.id == customer.subscriptionID)
    #expect(paid.change.noticed == day(30))
    let (before, after) = (paid.change.before, paid.change.after)
    #expect(
      before.contains { $0.why == .subscribed && $0.from == day(0) && $0.to == day(30) },
      "\(before)")
    #expect(
      after.contains { $0.why == .subscribed && $0.from == day(0) && $0.to == day(60) }, "\(after)")
    #expect(try effect(1).owed.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a hundred refused deliveries are kept, and all are counted`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let service = harness.service()
    for number in 0..<250 {
      harness.set(day0 + .seconds(Int64(number)))
      #expect(try harness.post([], signatures: ["t=1,v1=00"], through: service).status == 400)
      if number % 60 == 0 { try service.refusals.write() }
    }
    try service.refusals.write()
    try service.refusals.write()
    try harness.database.read { reader in
      let latest = try Refusals.latest(countMax: 1000, reading: reader)
      #expect(latest.count == 100)
      #expect(latest.first?.at == day0 + .seconds(249))
      #expect(latest.last?.at == day0 + .seconds(150))
      let counts = try Refusals.counts(reading: reader)
      #expect(counts.map(\.count) == [250])
      #expect(counts.first?.first == day0)
    }
  }
}
