import Answers
import Base
import KnownStores
import Ledger
import RecordedStories
import Repair
import Storage
import Stores
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

struct ReplayTests {
  /// Of Stripe's stories, those of one version: the others have the same meaning in other words.
  private static let stories = RecordedStory.all.filter { story in
    story.store != "stripe" || story.name.contains("/2025-03-31.basil/")
  }

  @Test(arguments: stories)
  func `every kept delivery and answer says the same when it is decoded again`(
    story: RecordedStory
  ) throws {
    let installation = try RecordedInstallation(story, .sqlite)
    for (index, step) in story.steps.enumerated() {
      try installation.play(step, place: "step \(index + 1)")
    }
    let end = try #require(story.steps.last).at
    let (rows, mirrors) = (try installation.rows(at: end), try installation.mirrors())
    #expect(try installation.replay(at: end) > 0)
    #expect(try installation.rows(at: end) == rows)
    #expect(try installation.mirrors() == mirrors)
  }

  @Test(arguments: TestEngine.available)
  func `what a decoder of before read wrongly is put right, and only that`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    let paid = customer.invoice(1, "paid", 0)
    let right = try harness.digest(customer)
    try harness.database.write(for: nil) { transaction in
      try transaction.execute(
        """
        UPDATE billing.mirrors SET content = replace(content, 'price_premium', 'price_other')
        WHERE object = $1
        """, .text("stripe:live:invoice:in_\(harness.tag)_1"))
    }
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let again = try harness.redecoded(paid.id)
    let change = try harness.database.write(for: nil) { transaction in
      try ledger.replay(again, at: day(1), in: transaction)
    }
    #expect(change.accounts.isEmpty)
    #expect(try harness.digest(customer) == right)
    #expect(
      try harness.count(
        """
        SELECT count(*) FROM billing.mirrors WHERE replace(content, 'price_other', '') <> content
        """) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `without the delivery that paid nothing is owed, and with an older one what that said`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.subscriber()
    let paid = customer.invoice(1, "paid", 0)
    let ended = customer.subscription("deleted", 10) {
      $0.status = "canceled"
      $0.endedAt = day(10)
    }
    try harness.post(ended)
    let unpaid = try harness.suppose(without: paid.id, at: day(5))
    #expect(unpaid.accounts == [customer.account])
    #expect(unpaid.after.schedules[customer.account]?.contains { $0.planID == "premium" } == false)
    let running = try harness.suppose(without: ended.id, at: day(20))
    let key = try #require(running.subscriptions.first)
    #expect(running.before.subscriptions[key]??.label == .expired)
    #expect(running.after.subscriptions[key]??.label == .active)
    // Nothing of it was applied.
    #expect(
      try harness.suppose(without: paid.id, at: day(5)).before.schedules == unpaid.before.schedules)
  }
}

extension Harness {
  fileprivate var ledger: Ledger {
    Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
  }

  fileprivate func redecoded(_ id: String) throws -> RedecodedDelivery {
    try database.read { reader in
      let found = try DeliverySummary.find(id, of: Array(StoreList.known), reading: reader)
      return try RedecodedDelivery(
        try #require(found.first), of: .known, sealing: Self.sealing, search: nil, reading: reader)
    }
  }

  fileprivate func suppose(without id: String, at now: Instant) throws -> DerivedChange {
    let redecoder = Redecoder(ledger, database, sealing: Self.sealing, search: nil)
    return try redecoder.suppose(without: try redecoded(id), at: now, about: now).change
  }
}
