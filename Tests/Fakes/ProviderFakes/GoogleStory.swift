import Base
package import Crypto

/// The story of one customer at Google Play, with the state expected after each delivery.
package struct GoogleStory: Sendable, CustomStringConvertible {
  /// The folder's name.
  package let name: String
  package let title: String
  private let script: @Sendable (GoogleRecorder) -> Void
  private let start: Instant

  init(
    _ name: String, _ title: String, _ script: @escaping @Sendable (GoogleRecorder) -> Void
  ) {
    self.name = name
    self.title = title
    self.script = script
    // With milliseconds, like the store's times.
    start = .morning(of: name, apart: .milliseconds(17_113))
  }

  package var description: String { name }

  /// Runs the story to its end. The recorder then has its deliveries, reads and knowledge.
  package func record(key: RSAPrivateKey, serviceKey: RSAPublicKey) -> GoogleRecorder {
    let recorder = GoogleRecorder("google/\(name)", start: start) { clock, seed in
      var settings = FakePlayStore.Settings()
      settings.seed = seed
      settings.serviceKey = serviceKey
      return FakePlayStore(clock: clock, issuer: GoogleIssuer(keys: [key]), settings: settings)
    }
    script(recorder)
    return recorder
  }

  package static let all = paying + changing + ending + adding
}

extension GooglePlan {
  package static let premiumMonthly = GooglePlan(
    productID: "premium", basePlanID: "monthly", price: GoogleMoney(cents: 299),
    period: .months(1))
  package static let premiumYearly = GooglePlan(
    productID: "premium", basePlanID: "yearly", price: GoogleMoney(cents: 3000),
    period: .months(12))
  package static let premiumPrepaid = GooglePlan(
    productID: "premium", basePlanID: "prepaid", price: GoogleMoney(cents: 299),
    period: .months(1), isPrepaid: true)
  /// The larger tier, sold without grace.
  package static let plusMonthly = GooglePlan(
    productID: "plus", basePlanID: "monthly", price: GoogleMoney(cents: 999), period: .months(1),
    graceDays: 0)
  /// Two gigabytes in addition to a plan.
  package static let extraMonthly = GooglePlan(
    productID: "extra", basePlanID: "monthly", price: GoogleMoney(cents: 49), period: .months(1))
  package static let extraYearly = GooglePlan(
    productID: "extra", basePlanID: "yearly", price: GoogleMoney(cents: 490), period: .months(12))
  /// A product of the same app without storage.
  package static let stickersMonthly = GooglePlan(
    productID: "stickers", basePlanID: "monthly", price: GoogleMoney(cents: 199),
    period: .months(1))
}

extension GoogleRecorder {
  /// The usual beginning: a purchase that names the account, delivered and acknowledged.
  func buy(_ plan: GooglePlan = .premiumMonthly) -> String {
    time(clock.now - .seconds(60), .nobody)
    let token = store.buy(plan, for: account)
    let bought = plan.productID == "plus" ? Expectation.plus() : .premium()
    deliver(bought, acknowledging: token)
    return token
  }

  /// When the time that a purchase paid for ends, as Google shows it.
  func end(_ token: String) -> Instant {
    let truth = store.truth(of: token)
    guard let end = (truth.paid + truth.graces).map(\.to).max() else {
      preconditionFailure("nothing was sold by that purchase")
    }
    return end
  }
}
