import Base
import JSON
import KnownStores
import Ledger
import SeededRandom
import Storage
import Stores
import Stripe
import StripeSamples
import TestEngines
import Testing

/// The promise of the ledger, through real transactions: order and repetition change nothing.
struct OrderTests {
  private static let stories: [(name: String, events: @Sendable (Customer) -> [SampleEvent])] = [
    (
      "bought, renewed late, cancelled",
      { customer in
        [
          customer.session(), customer.subscription("created", 0),
          customer.invoice(1, "paid", 0),
          customer.subscription("updated", 30) { $0.status = "past_due" },
          customer.invoice(2, "payment_failed", 30, from: 30, to: 60),
          customer.invoice(2, "paid", 33, from: 30, to: 60),
        ]
      }
    ),
    (
      "trial, declined, ended",
      { customer in
        let trial = day(0)..<day(14)
        return [
          customer.session(),
          customer.subscription("created", 0) {
            $0.status = "trialing"
            $0.trial = trial
          },
          customer.invoice(1, "paid", 0, from: 0, to: 14) { $0.amountMinorUnits = 0 },
          customer.invoice(2, "payment_failed", 14, from: 14, to: 44),
          customer.subscription("deleted", 16) {
            $0.status = "canceled"
            $0.trial = trial
            $0.endedAt = day(16)
            $0.cancellationReason = "payment_failed"
          },
        ]
      }
    ),
    (
      "everything in one second",
      { customer in
        [
          customer.session(), customer.subscription("created", 0) { $0.status = "incomplete" },
          customer.subscription("updated", 0), customer.invoice(1, "paid", 0),
          customer.subscription("deleted", 0) {
            $0.status = "canceled"
            $0.endedAt = day(0)
          },
        ]
      }
    ),
    (
      "customer deleted",
      { customer in
        [
          customer.subscription("created", 0) {
            $0.account = customer.account.description
          },
          customer.invoice(1, "paid", 0),
          customer.event(
            "gone", "customer.deleted", 5,
            ["id": .string(customer.customerID), "object": "customer"]),
        ]
      }
    ),
  ]

  @Test(arguments: 0..<4, TestEngine.available)
  func `every order of a story, with duplicates, leaves the same rows`(
    index: Int, engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let story = Self.stories[index].events
    let count = story(Customer(tag: "x")).count
    var expected: [String]?
    // On PostgreSQL every statement crosses a socket, so every fifth order is enough there.
    let stride = engine == .postgres ? 5 : 1
    for (number, order) in permutations(Array(0..<count)).enumerated()
    where number % stride == 0 {
      let customer = Customer(
        tag: "\(harness.tag)n\(number)z", shape: number % 2 == 0 ? .basil : .acacia)
      let events = try story(customer).map { try prepared($0) }
      try harness.database.write(for: nil) { transaction in
        for step in order + [order[0], order[count / 2]] {
          _ = try ledger.record(events[step], in: transaction)
        }
      }
      let digest = try anonymous(harness.digest(customer), customer)
      #expect(!digest.isEmpty)
      if let expected { #expect(digest == expected, "order \(order)") } else { expected = digest }
    }
  }

  @Test(arguments: 0..<4, TestEngine.available)
  func `deliveries in groups of any size leave the rows that they leave one by one`(
    index: Int, engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let seed = SeededGenerator.seed(of: "deliveries in groups")
    var random = SeededGenerator(seed: seed)
    var expected: [String]?
    for number in 0..<12 {
      let customer = Customer(tag: "\(harness.tag)g\(index)n\(number)z")
      let events = try Self.stories[index].events(customer).map { try prepared($0) }
      // The first round has no groups.
      var rest = number == 0 ? events : (events + events).shuffled(using: &random)
      while !rest.isEmpty {
        let size = number == 0 ? 1 : Int.random(in: 1...rest.count, using: &random)
        let group = Array(rest.prefix(size))
        rest.removeFirst(size)
        let recorded = try harness.database.write(for: nil) { transaction in
          try ledger.record(group, in: transaction)
        }
        #expect(recorded.count == group.count)
      }
      let digest = try anonymous(harness.digest(customer), customer)
      #expect(digest == expected ?? digest, "round \(number), seed \(seed)")
      expected = digest
    }
  }

  @Test(arguments: TestEngine.available)
  func `a subscription that several deliveries of a group speak of is derived once`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let customer = Customer(tag: harness.tag)
    let events = try Self.stories[0].events(customer).map { try prepared($0) }
    let recorded = try harness.database.write(for: nil) { transaction in
      try ledger.record(events, in: transaction)
    }
    #expect(recorded.map(\.status) == events.map { _ in "recorded" })
    // Its state and its owner, each from nothing to its value.
    #expect(
      try harness.count(
        "SELECT count(*) FROM billing.transitions WHERE object LIKE '%\(harness.tag)%'") == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a customer's deletion that comes before his subscription ends it, too`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let digests = try [[0, 1, 2], [1, 2, 0]].enumerated().map { number, order in
      let customer = Customer(tag: "\(harness.tag)n\(number)z")
      let events = try Self.stories[3].events(customer).map { try prepared($0) }
      try harness.database.write(for: nil) { transaction in
        for step in order { _ = try ledger.record(events[step], in: transaction) }
      }
      return try anonymous(harness.digest(customer), customer)
    }
    #expect(digests[0] == digests[1])
  }

  @Test(arguments: TestEngine.available)
  func `deliveries at the same time, each three times, leave the same rows`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let customers = (0..<20).map { Customer(tag: "\(harness.tag)n\($0)z") }
    let deliveries = try customers.flatMap { customer in
      try Self.stories[0].events(customer).map { try prepared($0) }
    }
    let open = Locked(deliveries.count * 3)
    for delivery in (deliveries + deliveries + deliveries).shuffled(using: &random) {
      harness.database.submitWrite(
        for: nil, { transaction in try ledger.record(delivery, in: transaction) }
      ) { result in
        if case .failure(let error) = result { Issue.record("seed \(seed): \(error)") }
        open.signal { $0 -= 1 }
      }
    }
    let done: Bool? = open.wait(until: .now() + .seconds(60)) { $0 == 0 ? true : nil }
    #expect(done == true)
    let digests = try customers.map { try anonymous(harness.digest($0), $0) }
    #expect(Set(digests).count == 1, "seed \(seed)")
    #expect(
      try harness.count("SELECT count(*) FROM billing.deliveries WHERE redelivery_count = 2")
        == Int64(deliveries.count))
  }

  private func anonymous(_ digest: [String], _ customer: Customer) -> [String] {
    digest.map {
      $0.replacing(customer.tag, with: "T").replacing(customer.account.description, with: "A")
    }
  }

  /// Received on day 40 in any order, so that labels can be compared.
  private func prepared(_ event: SampleEvent) throws -> PreparedDelivery {
    let now = day(40)
    let signature = signatureHeader(body: event.body, secret: Harness.secret, at: now)
    let secrets = try #require(WebhookSecrets([Harness.secret]))
    let delivery = try secrets.verify(
      headers: [Array(signature.utf8)], body: event.body, now: now)
    return PreparedDelivery(
      DecodedDelivery(try StripeEvent(delivery), received: now), of: StripeStore(), received: now,
      head: [],
      body: delivery.body, sealing: Harness.sealing)
  }

  private func permutations(_ items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.flatMap { item in
      permutations(items.filter { $0 != item }).map { [item] + $0 }
    }
  }
}
