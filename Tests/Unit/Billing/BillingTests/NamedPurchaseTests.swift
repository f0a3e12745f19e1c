import KnownStores
import RecordedStories
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

@Suite struct NamedPurchaseTests {
  @Test(
    arguments: [
      ("sub_1", "stripe:live:subscription:sub_1", "stripe:live:subscription:sub_1"),
      (
        "2000000123456789", "apple:live:transaction:2000000123456789",
        "apple:live:subscription:2000000123456789"
      ),
      ("CHoJbcsDV3rVE1tsgvgiTP", "btcpay:live:prepaid_invoice:CHoJbcsDV3rVE1tsgvgiTP", nil),
      (
        "apple:sandbox:subscription:7", "apple:sandbox:subscription:7",
        "apple:sandbox:subscription:7"
      ),
    ] as [(String, String, String?)])
  func `a number of a store's names its object and what is read`(
    _ number: String, _ object: String, _ subscription: String?
  ) throws {
    let named = try #require(StoreList.known.purchase(named: number, in: .live))
    #expect(named.object.description == object)
    #expect(named.subscription?.description == subscription)
    #expect(named.secret == nil)
  }

  @Test func `a purchase token is a secret, and its digest the purchase`() throws {
    let token = String(repeating: "a", count: 100) + ".AO-J1O"
    let named = try #require(StoreList.known.purchase(named: token, in: .live))
    #expect(named.secret != nil)
    #expect(named.object == named.subscription)
    #expect(!named.object.description.contains(token))
  }

  /// Stories of one purchase; if a purchase continues another, the story has two.
  private static let stories = ["apple", "btcpay"].compactMap { store in
    RecordedStory.all(of: store).first { story in
      !story.steps.contains { $0.deletesAccount } && story.subscriptions.count == 1
    }
  }

  @Test(arguments: stories)
  func `a number of a part of a purchase names that purchase`(_ story: RecordedStory) throws {
    let installation = try RecordedInstallation(story, .sqlite)
    for (index, step) in story.steps.enumerated() {
      try installation.play(step, place: "step \(index + 1)")
    }
    let subscription = story.key(of: try #require(story.subscriptions.first))
    let numbers = try installation.mirrors()
      .compactMap { ObjectKey(String($0.prefix { $0 != " " })) }
      .compactMap { StoreList.known.purchase(named: $0.id, in: $0.environment)?.object }
    #expect(!numbers.isEmpty)
    for object in Set(numbers) {
      #expect(try installation.wholes(of: object).map(\.description) == [subscription], "\(object)")
    }
  }

  @Test(arguments: [
    "", "7", "in_1", "ada", "12345", "stripe:live:invoice:in_1", "a b", "sub_", "sub_a/../b",
    "sub_a?limit=1", "sub_\u{1B}[31m", "stripe:live:subscription:sub_\n",
    "stripe:live:subscription:in_1", "apple:live:subscription:20a", "google:live:purchase:5f2b",
    "btcpay:live:prepaid:ada", "123456789012345678901",
  ])
  func `anything else names nothing`(_ text: String) {
    #expect(StoreList.known.purchase(named: text, in: .live) == nil)
  }
}
