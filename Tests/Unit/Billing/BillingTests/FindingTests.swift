import Answers
import Base
import KnownStores
import Ledger
import RecordedStories
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing

struct FindingTests {
  /// One purchase at each store, played to its end.
  private static let stories = ["stripe", "apple", "google", "btcpay"].compactMap { store in
    RecordedStory.all(of: store).first { story in
      !story.steps.contains { $0.deletesAccount } && story.subscriptions.count == 1
    }
  }

  private static func played(
    _ story: RecordedStory, _ engine: TestEngine
  ) throws -> (RecordedInstallation, end: Instant) {
    let installation = try RecordedInstallation(story, engine)
    for (index, step) in story.steps.enumerated() {
      try installation.play(step, place: "step \(index + 1)")
    }
    return (installation, try #require(story.steps.last).at)
  }

  @Test(arguments: stories, TestEngine.available)
  func `a purchase is found by its store's own name, by its account and by every object of its`(
    story: RecordedStory, engine: TestEngine
  ) throws {
    let (installation, end) = try Self.played(story, engine)
    let name = try #require(story.subscriptions.first)
    let objects = try installation.mirrors().compactMap {
      ObjectKey(String($0.prefix { $0 != " " }))
    }
    let texts = [name, story.account.description] + objects.flatMap { [$0.id, "\($0)"] }
    for text in texts {
      let found = try installation.found(text, at: end)
      #expect(
        found.subscriptions.contains { $0.key.description == story.key(of: name) }, "\(text)")
      #expect(found.deliveries.count <= 20)
    }
    #expect(try installation.found("nobody", at: end).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `of the deliveries about what is found the newest are told, with how many there are`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let customer = Customer(tag: harness.tag)
    try harness.post(customer.session())
    try harness.post(customer.subscription("created", 0))
    for number in 1...24 { try harness.post(customer.invoice(number, "paid", Double(number))) }
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue))
    let oldest = "evt_\(harness.tag)_session"
    let texts = [
      customer.customerID, customer.subscriptionID, customer.account.description, oldest,
    ]
    for text in texts {
      let found = try harness.database.read { reader in
        try Finding(text, owners: [], at: day(30), of: ledger, key: nil, reading: reader)
      }
      #expect(found.deliveryTotal.count == 26, "\(text)")
      #expect(found.deliveries.count == 20 && found.deliveries.first?.number == 26, "\(text)")
      #expect(found.subscriptions.map(\.owner) == [customer.account], "\(text)")
      #expect(found.deliveries.contains { $0.deliveryID == oldest } == (text == oldest), "\(text)")
    }
  }

  @Test func `what is personal is found under the key, in any case and with any spaces`() throws {
    let story = try #require(
      RecordedStory.all.first { $0.name == "stripe/2025-03-31.basil/first-purchase" })
    let (installation, end) = try Self.played(story, .sqlite)
    for text in [
      "customer-2@example.com", "Customer-2@EXAMPLE.com", "Zoë  Ångström",
      "Zoe\u{308} A\u{30A}ngstro\u{308}m",
    ] {
      #expect(try installation.found(text, at: end).subscriptions.count == 1, "\(text)")
      #expect(try installation.found(text, at: end, withKey: false).isEmpty, "\(text)")
    }
    #expect(
      try installation.found("bnnkfta7-0001", at: end, withKey: false).subscriptions.count == 1)
    #expect(try installation.found("customer-2", at: end).isEmpty)
  }
}
