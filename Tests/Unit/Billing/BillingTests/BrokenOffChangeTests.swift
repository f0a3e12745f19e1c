import Answers
import Base
import Billing
import Crypto
import Jobs
import KnownStores
import Ledger
import Repair
import SeededRandom
import Storage
import Stripe
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Decisions and deliveries while a change of rules is not complete, or is taken back.
struct BrokenOffChangeTests {
  /// Decisions about some accounts are made under each catalogue before its change is complete.
  private struct Catalogues {
    let all: [LedgerRules]

    init() throws {
      func rules(_ version: String, _ byteCount: Int64, _ products: [String]) throws -> LedgerRules
      {
        let premium = Plan(
          id: "premium", title: "Premium", byteCount: byteCount,
          products: products.map { Plan.Product(provider: "stripe", id: $0) })
        let plus = Plan(id: "plus", title: "Plus", byteCount: byteCount * 2)
        return LedgerRules(
          catalogue: try Catalogue(
            version: version, free: Plan(id: "free", title: "Free", byteCount: 10),
            paid: [premium, plus]))
      }
      all = [
        try rules("right", 1000, ["price_premium"]), try rules("wrong", 3, ["price_premium"]),
        try rules("larger", 5000, ["price_premium", "price_new"]),
      ]
    }
  }

  /// The rows that do not follow from the facts under the rules.
  private func drift(_ harness: Harness, _ rules: LedgerRules) throws -> [String] {
    let ledger = Ledger(stores: .known, rules: rules, for: .command)
    return try harness.database.read { reader in
      var drift = Ledger.Drift()
      #expect(try ledger.whyIncomparable(reading: reader) == nil)
      _ = try ledger.compare(&drift, after: "", limit: 1000, reading: reader)
      let accounts = try ledger.accounts(
        behind: Identifier(high: 0, low: 0), limit: 1000, reading: reader)
      try ledger.compare(&drift, schedulesOf: accounts, reading: reader)
      let count = try reader.first("SELECT count(*) FROM billing.subscriptions") {
        try $0.integer(0)
      }
      #expect(drift.checkedCount == count)
      return drift.subscriptions.map(\.description) + drift.accounts.map(\.description)
    }
  }

  private func takeForce(_ rules: LedgerRules, _ harness: Harness, at now: Instant) throws {
    try harness.database.write(for: nil) { transaction in
      try Ledger(stores: .known, rules: rules).takeForce(at: now, in: transaction)
    }
  }

  @Test(arguments: TestEngine.available)
  func `who is decided about in a change that is taken back has what the former rules say`(
    engine: TestEngine
  ) throws {
    let catalogues = try Catalogues().all
    let harness = try Harness(engine, rules: catalogues[0])
    try harness.service().applyRules()
    let customer = try harness.payer()
    try takeForce(catalogues[1], harness, at: day(1))
    try harness.decide(
      .quota(customer.account, byteCount: 7, until: nil, note: "large"), at: day(1))
    try harness.decide(.quotaCleared(customer.account, note: "by mistake"), at: day(1))
    harness.set(day(2))
    try harness.service().applyRules()
    #expect(try harness.explanation(customer.account, at: day(2)).current.capByteCount == 1000)
  }

  @Test(arguments: TestEngine.available)
  func `a change that another one replaced is not through because the former was`(
    engine: TestEngine
  ) throws {
    let catalogues = try Catalogues().all
    let harness = try Harness(engine, rules: catalogues[0])
    let customer = Customer(tag: harness.tag)
    try takeForce(catalogues[1], harness, at: day(0))
    try harness.post(customer.session())
    try takeForce(catalogues[0], harness, at: day(0))
    let ledger = Ledger(stores: .known, rules: catalogues[0])
    _ = try ledger.deriveAnew(on: harness.database, clock: .fixed(day(0))) { count, _ in
      // Others take the rules away and bring them back while this one derives.
      if count < 2 {
        do {
          try takeForce(catalogues[1], harness, at: day(1))
          try harness.decide(
            .grant(customer.account, planID: "plus", from: day(1), until: nil, note: "friend"),
            at: day(1))
          try takeForce(catalogues[0], harness, at: day(1))
        } catch { Issue.record(error) }
      }
    }
    let why = try harness.database.read { try ledger.whyIncomparable(reading: $0) }
    #expect(why == .unfinished)
  }

  @Test(arguments: TestEngine.available)
  func `a subscription that cannot be derived keeps no other from the new rules`(
    engine: TestEngine
  ) throws {
    let catalogues = try Catalogues().all
    let harness = try Harness(engine, rules: catalogues[0])
    try harness.service().applyRules()
    let customers = (0..<3).map { Customer(tag: "\(harness.tag)\($0)") }
    for customer in customers {
      try harness.post(customer.session())
      try harness.post(customer.invoice(1, "paid", 0))
    }
    func cap(_ customer: Customer) throws -> Int64? {
      try harness.database.read { reader in
        try reader.first(
          """
          SELECT cap_bytes FROM billing.entitlements WHERE account_id = $1 AND from_ms <= $2
          ORDER BY from_ms DESC LIMIT 1
          """, .id(customer.account), .instant(day(2))
        ) { row in try row.integer(0) }
      }
    }
    let invoice = SQLValue.text("stripe:live:invoice:in_\(customers[1].tag)_1")
    let content = try harness.database.write(for: nil) { transaction in
      let content = try transaction.first(
        "SELECT content FROM billing.mirrors WHERE object = $1", invoice
      ) { row in try row.text(0) }
      try transaction.execute(
        "UPDATE billing.mirrors SET content = '{' WHERE object = $1", invoice)
      return content
    }
    harness.set(day(2))
    try harness.service(rules: catalogues[2]).applyRules()
    #expect(try customers.map(cap) == [5000, 1000, 5000])
    let jobs = try harness.database.read { try Jobs.list($0, limit: 99) }
      .filter { $0.kind == Ledger.deriveJob }
    #expect(jobs.map(\.object) == ["stripe:live:subscription:\(customers[1].subscriptionID)"])
    // When the mirror can be read again, the subscription's job derives it.
    try harness.database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.mirrors SET content = $2 WHERE object = $1", invoice, .text(content))
    }
    let handler = Ledger(stores: .known, rules: catalogues[2]).deriveHandler(.fixed(day(2)))
    let leases = try harness.database.write(for: nil) { transaction in
      try Jobs.lease(Ledger.deriveJob, limit: 9, now: day(2), in: transaction)
    }
    for lease in leases {
      let result = try handler.run(lease)
      _ = try harness.database.write(for: nil) { transaction in
        try result.commit(lease, now: day(2), in: transaction).isSettled
      }
    }
    #expect(try customers.map(cap) == [5000, 5000, 5000])
    #expect(try drift(harness, catalogues[2]) == [])
  }

  @Test(arguments: TestEngine.available)
  func `everything follows from the facts after a change, whatever was broken off before it`(
    engine: TestEngine
  ) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "broken-off changes"))
    let catalogues = try Catalogues().all
    let harness = try Harness(engine, rules: catalogues[0])
    try harness.service().applyRules()
    // Some accounts own two subscriptions, and some none.
    let customers = (0..<6).map { Customer(tag: "\(harness.tag)\($0)") }
    let accounts = [0, 1, 2, 0, 1, 3].map { customers[$0].account } + [Random.identifier()]
    var invoiceCounts = [Int](repeating: 1, count: customers.count)
    for (customer, account) in zip(customers, accounts) {
      try harness.post(customer.session(account: account))
      try harness.post(customer.invoice(1, "paid", 0))
    }
    for step in 1...60 {
      let moment = day(Double(step) / 10)
      harness.set(moment)
      let account = try #require(accounts.randomElement(using: &random))
      let index = Int.random(in: customers.indices, using: &random)
      let rules = try #require(catalogues.randomElement(using: &random))
      switch Int.random(in: 0..<9, using: &random) {
      case 0, 1: try takeForce(rules, harness, at: moment)
      case 2:
        try harness.decide(
          .grant(account, planID: "plus", from: moment, until: day(90), note: "gift"), at: moment)
      case 3:
        try harness.decide(
          .quota(account, byteCount: Int64(step), until: nil, note: "large"), at: moment)
      case 4: try harness.decide(.quotaCleared(account, note: "over"), at: moment)
      case 5:
        let key = ObjectKey(
          provider: .stripe, environment: .live, kind: .subscription,
          id: customers[index].subscriptionID)
        try harness.decide(.transfer(account, key, note: "moved"), at: moment)
      case 6, 7:
        invoiceCounts[index] += 1
        let price = Bool.random(using: &random) ? "price_premium" : "price_new"
        try harness.post(
          customers[index].invoice(
            invoiceCounts[index], "paid", Double(step) / 10, from: Double(step) / 10,
            to: Double(step) + 30
          ) { $0.price = price })
      default:
        harness.set(moment)
        try harness.service(rules: rules).applyRules()
        #expect(try drift(harness, rules) == [])
      }
    }
    for rules in catalogues.shuffled(using: &random) {
      try takeForce(rules, harness, at: day(7))
    }
    try harness.service().applyRules()
    #expect(try drift(harness, catalogues[0]) == [])
  }
}
