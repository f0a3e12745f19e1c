import Answers
import Base
import Crypto
import Goldens
import Ledger
import RecordedStories
import StripeSamples
import Subscriptions
import TestEngines
import Testing
import Tiers

/// The three sentences that support could send, for any case and any time.
struct SentencesTests {
  private static let told = [
    "apple/cancel-and-uncancel", "apple/downgrade", "apple/failed-grace-recovery",
    "apple/family-revoke", "apple/month-to-year", "apple/first-purchase",
    "apple/refund-prorated", "apple/refund-reversed", "apple/trial-then-paid", "apple/upgrade",
    "btcpay/first-purchase", "btcpay/overpaid", "btcpay/renewed-late", "btcpay/underpaid",
    "google/cancel-and-restore", "google/deferred-downgrade", "google/failed-hold-recovery",
    "google/first-purchase",
    "google/pause-resume", "google/refund-current",
    "stripe/2026-07-29.dahlia/cancel-at-period-end", "stripe/2026-07-29.dahlia/dispute-lost",
    "stripe/2026-07-29.dahlia/collection-paused-and-resumed",
    "stripe/2026-07-29.dahlia/failed-payment-grace-recovery",
    "stripe/2026-07-29.dahlia/failed-payment-lapse",
    "stripe/2026-07-29.dahlia/refund-of-the-current-period", "stripe/2026-07-29.dahlia/renewal",
    "stripe/2026-07-29.dahlia/sent-invoice-paid",
    "stripe/2026-10-28.endive/dispute-appealed-and-won",
    "stripe/2026-10-28.endive/paused-after-a-failed-payment",
  ]

  /// The sentences for each time at which they change.
  @Test func `the sentences of every kind of story are those that were looked at`() throws {
    let text = try RecordedInstallation.told(Self.told) { installation, now in
      let sentences = try installation.explanation(at: now).sentences(usedByteCount: 1000)
      #expect(sentences.count == 3)
      return sentences.map { "  \($0)" }
    }
    try expectGolden(text, "sentences")
  }

  @Test func `who holds more than is allowed is told what that means`() throws {
    let explanation = try Harness(.sqlite).explanation(Customer(tag: "nobody").account, at: day0)
    #expect(
      explanation.sentences(usedByteCount: 5000) == [
        "Your account may store 10 B (plan Free) because no plan was ever bought, until a plan is "
          + "bought; it holds 5 kB, so nothing can be added until it holds less, and nothing "
          + "is deleted.",
        "Nothing has happened yet: no plan was ever bought.",
        "Nothing changes by itself from here on.",
      ])
  }

  @Test func `after a failed payment a card helps as long as the store tries it`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.payer()
    try harness.post(customer.subscription("updated", 30) { $0.status = "past_due" })
    try harness.post(customer.invoice(2, "payment_failed", 30, from: 30, to: 60))
    func sentences(_ now: Double) throws -> [String] {
      try harness.explanation(customer.account, at: day(now)).sentences(usedByteCount: 0)
    }
    let tried = try sentences(40)
    #expect(
      tried[0] == "Your account may store 10 B (plan Free) because the last payment failed, until "
        + "a payment succeeds.")
    #expect(tried[2] == "Next, a payment has to succeed; until then nothing changes by itself.")
    let deleted = customer.subscription("deleted", 50) {
      $0.status = "canceled"
      $0.endedAt = day(50)
    }
    try harness.post(deleted)
    let ended = try sentences(51)
    #expect(
      ended[0] == "Your account may store 10 B (plan Free) because the last payment failed and the "
        + "subscription has ended, until a plan is bought.")
    #expect(ended[2] == "Next, a plan has to be bought; until then nothing changes by itself.")
  }

  @Test func `what was paid for something else is not what gave a plan`() throws {
    let harness = try Harness(.sqlite)
    let customer = Customer(tag: harness.tag)
    let shirt = Customer(tag: harness.tag + "b")
    try harness.post(customer.session())
    try harness.post(customer.invoice(1, "paid", 0))
    let twoMinutes = 2.0 / 1440
    try harness.post(shirt.session(twoMinutes, account: customer.account))
    let subscribed = shirt.subscription("created", twoMinutes) { $0.price = "price_shirt" }
    try harness.post(subscribed)
    let paid = shirt.invoice(1, "paid", twoMinutes) {
      $0.price = "price_shirt"
      $0.amountMinorUnits = 500
    }
    try harness.post(paid)
    let explanation = try harness.explanation(customer.account, at: day(1))
    #expect(explanation.subscriptions.map { $0.ignoredItems.count } == [0, 1])
    #expect(explanation.subscriptions.last?.label == .pending)
    #expect(
      explanation.sentences(usedByteCount: 0)[1] == "Last, on 2026-01-01 00:00 UTC, a payment of "
        + "2.99 USD arrived at Stripe, and your account went from 10 B (plan Free) to 1 kB (plan "
        + "Premium).")
  }

  @Test func `a payment that was heard of late bears the time at which it came`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    try harness.post(customer.invoice(2, "paid", 30, from: 30, to: 60), at: day(35))
    #expect(
      try harness.explanation(customer.account, at: day(36)).sentences(usedByteCount: 0)[1]
        == "Last, on 2026-01-31 00:00 UTC, a payment of 2.99 USD arrived at Stripe, which we heard of "
        + "on 2026-02-05 00:00 UTC, and your account went from 10 B (plan Free) to 1 kB (plan "
        + "Premium).")
  }

  @Test(arguments: TestEngine.available)
  func `whose purchase was moved away is not told that none was ever bought`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    let key = try #require(
      harness.explanation(customer.account, at: day(9)).subscriptions.first
    ).key
    try harness.decide(.transfer(Random.identifier(), key, note: "sold it"), at: day(10))
    func sentences(about moment: Double) throws -> [String] {
      try harness.explanation(customer.account, at: day(20), about: day(moment))
        .sentences(usedByteCount: 0)
    }
    #expect(
      try sentences(about: 20)[0] == "Your account may store 10 B (plan Free) because its purchase "
        + "was transferred away, until a plan is bought.")
    #expect(
      try sentences(about: 5)[1] == "As known today, it was entitled to 10 B (plan Free) then, "
        + "because its purchase was transferred away.")
  }

  @Test func `the end of a size that was set is told as that`() throws {
    let harness = try Harness(.sqlite)
    let account = Random.identifier()
    try harness.decide(.quota(account, byteCount: 500, until: day(10), note: "a talk"), at: day(1))
    #expect(
      try harness.explanation(account, at: day(20)).sentences(usedByteCount: 0)[1]
        == "Last, on 2026-01-11 00:00 UTC, the size that we had set ran out, and your "
        + "account went from 500 B (plan Free) to 10 B (plan Free).")
  }

  @Test(arguments: TestEngine.available)
  func `of an account that was erased it is told that it was`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    let customer = try harness.payer()
    try harness.erase(customer.account, at: day(40))
    func sentences(about moment: Double) throws -> [String] {
      try harness.explanation(customer.account, at: day(50), about: day(moment))
        .sentences(usedByteCount: 0)
    }
    #expect(
      try sentences(about: 50).first
        == "The account was erased on 2026-02-10 00:00 UTC: nothing of it is stored any more.")
    #expect(try sentences(about: 50).last == "Nothing changes by itself from here on.")
    #expect(
      try sentences(about: 10).first
        == "On 2026-01-11 00:00 UTC your account could store 1 kB (plan Premium) because the current "
        + "period was paid.")
  }

  private func explanation(
    _ harness: Harness, _ customer: Customer, at now: Double, about moment: Double
  ) throws -> EntitlementExplanation {
    try harness.explanation(customer.account, at: day(now), about: day(moment))
  }

  /// A customer who paid for a month. On the twelfth day the store reports that it ended on the tenth.
  private func ended() throws -> (Harness, Customer) {
    let harness = try Harness(.sqlite)
    let customer = try harness.payer()
    let deleted = customer.subscription("deleted", 10) {
      $0.status = "canceled"
      $0.endedAt = day(10)
    }
    try harness.post(deleted, at: day(12))
    return (harness, customer)
  }

  @Test func `of a past time it is told what held, and what is known of it now`() throws {
    let (harness, customer) = try ended()
    let explanation = try explanation(harness, customer, at: 20, about: 11)
    #expect(explanation.heldThen?.planID == "premium")
    #expect(explanation.owedThen.planID == "free")
    #expect(
      explanation.sentences(usedByteCount: 0) == [
        "On 2026-01-12 00:00 UTC your account could store 1 kB (plan Premium) because the current "
          + "period was paid.",
        "As known today, it was entitled to 10 B (plan Free) then, because the plan had ended, "
          + "which was not known before 2026-01-13 00:00 UTC.",
        "That size held until 2026-01-13 00:00 UTC, and then it was 10 B (plan Free).",
      ])
  }

  /// The last read says that it has been paid since its beginning.
  @Test func `of a pause at Google Play that is over it is not told that anything was owed`()
    throws
  {
    let story = try #require(RecordedStory.all.first { $0.name == "google/pause-resume" })
    let installation = try RecordedInstallation(story, .sqlite)
    for step in story.steps { try installation.play(step, place: "") }
    let (pause, end) = (story.steps[story.steps.count - 3].at, try #require(story.steps.last).at)
    let explanation = try installation.explanation(at: end, about: pause + .days(1))
    #expect(
      explanation.sentences(usedByteCount: 0)[1]
        == "Google Play reports the purchase's present state, and no longer its state at that time."
    )
  }

  @Test func `of a past time that nothing contradicts it is told that`() throws {
    let (harness, customer) = try ended()
    let sentences = try explanation(harness, customer, at: 20, about: 13)
      .sentences(usedByteCount: 0)
    #expect(sentences[1] == "What is known today says the same.")
    #expect(sentences[2] == "That size holds to this day.")
  }

  @Test func `of a time to come it is told what holds if nothing more comes`() throws {
    let harness = try Harness(.sqlite)
    let customer = try harness.subscriber()
    let explanation = try explanation(harness, customer, at: 1, about: 40)
    #expect(explanation.heldThen == nil)
    #expect(explanation.subscriptions.first?.label == .active)
    #expect(explanation.subscriptions.first?.labelThen == .renewalPending)
    #expect(
      explanation.sentences(usedByteCount: 0).first
        == "If nothing changes, your account may store 10 B (plan Free) on 2026-02-10 00:00 UTC "
        + "because the plan has ended, until its payment is reported.")
  }

  @Test(arguments: TestEngine.available)
  func `a change bears the time at which it came true, and beside it when it was noticed`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session(), at: day(2))
    try harness.post(customer.invoice(1, "paid", 0), at: day(2))
    let deleted = customer.subscription("deleted", 10) {
      $0.status = "canceled"
      $0.endedAt = day(10)
    }
    try harness.post(deleted, at: day(12))
    let subscription = try #require(
      harness.explanation(customer.account, at: day(13)).subscriptions.first)
    #expect(
      subscription.transitions.filter { $0.cause != "owner" }.reversed().map {
        "\($0.before) \($0.after) \($0.at) \($0.noticed.description)"
      } == [
        "none pending \(day(2)) \(day(2))", "pending active \(day(0)) \(day(2))",
        "active expired \(day(10)) \(day(12))",
      ])
  }

  @Test(arguments: TestEngine.available)
  func `that a renewal is switched off, and on again, is a change with its times`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    // A payment that arrives before anything is known of the subscription still renews.
    try harness.post(customer.invoice(1, "paid", 0))
    try harness.post(customer.subscription("created", 1))
    let cancelled = customer.subscription("updated", 10) {
      ($0.cancelAtPeriodEnd, $0.canceledAt) = (true, day(9))
    }
    try harness.post(cancelled, at: day(12))
    try harness.post(customer.subscription("updated", 14), at: day(15))
    let subscription = try #require(
      harness.explanation(customer.account, at: day(16)).subscriptions.first)
    #expect(
      subscription.transitions.filter { $0.cause != "owner" }.reversed().dropFirst(2).map {
        "\($0.before) \($0.after) \($0.at) \($0.noticed.description)"
      } == [
        "renews does_not_renew \(day(9)) \(day(12))",
        "does_not_renew renews \(day(15)) \(day(15))",
      ])
  }
}
