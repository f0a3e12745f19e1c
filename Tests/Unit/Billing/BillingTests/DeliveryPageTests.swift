import Billing
import Stripe
import Base
import KnownStores
import Ledger
import Storage
import Stores
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

struct DeliveryPageTests {
  /// Sixty deliveries, a minute apart: every third of another type, every fifth foreign.
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
