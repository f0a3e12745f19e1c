import Base

/// One auto-renewable subscription product in the App Store.
package struct AppleProduct: Hashable, Sendable {
  package let id: String
  /// A customer has one product of a group at a time.
  package let groupID: String
  /// The rank in the group; 1 is the best.
  package let level: Int
  /// In thousandths of a dollar.
  package let price: Int64
  package let months: Int64
  /// The number of periods that a customer commits to; nil if each can be the last.
  package let commitment: Int64?

  package init(
    id: String, groupID: String, level: Int, price: Int64, months: Int64, commitment: Int64? = nil
  ) {
    self.id = id
    self.groupID = groupID
    self.level = level
    self.price = price
    self.months = months
    self.commitment = commitment
  }

  package static let storageGroup = "21482917"

  package static let premiumMonthly = AppleProduct(
    id: "com.example.coffer.premium.monthly", groupID: storageGroup, level: 2, price: 2990,
    months: 1)
  package static let premiumYearly = AppleProduct(
    id: "com.example.coffer.premium.yearly", groupID: storageGroup, level: 2, price: 30_000,
    months: 12)
  /// The yearly product, paid monthly.
  package static let premiumCommitment = AppleProduct(
    id: "com.example.coffer.premium.yearly", groupID: storageGroup, level: 2, price: 2750,
    months: 1, commitment: 12)
  /// The larger plan.
  package static let plusMonthly = AppleProduct(
    id: "com.example.coffer.plus.monthly", groupID: storageGroup, level: 1, price: 9990, months: 1)
  /// A product of the same app without storage.
  package static let stickersMonthly = AppleProduct(
    id: "com.example.coffer.stickers.monthly", groupID: "21482918", level: 1, price: 1990,
    months: 1)

  package static let all = [premiumMonthly, premiumYearly, plusMonthly, stickersMonthly]
}

/// The environment of a purchase: the sandbox sells for nothing, and its time runs much faster.
package enum AppleEnvironment: String, Sendable {
  case production = "Production"
  case sandbox = "Sandbox"
}

/// The periods of time in the store's rules.
struct AppleTerms {
  let environment: AppleEnvironment

  func end(_ product: AppleProduct, from start: Instant) -> Instant {
    guard environment == .sandbox else { return start.adding(months: product.months) }
    switch product.months {
    case ...1: return start + .minutes(5)
    case 2: return start + .minutes(10)
    case 3: return start + .minutes(15)
    case 4...6: return start + .minutes(30)
    default: return start + .hours(1)
    }
  }

  /// Days in production. In the sandbox, the month of five minutes sets the scale.
  func days(_ count: Int64) -> Instant.Span {
    environment == .sandbox ? .seconds(count * 10) : .days(count)
  }

  /// How long the store retries a failed renewal.
  func retry(_ product: AppleProduct) -> Instant.Span { days(product.commitment == nil ? 60 : 90) }

  /// How long before its period a renewal is charged: at most a day, and zero in the sandbox.
  func lead(_ span: Instant.Span) -> Instant.Span {
    environment == .sandbox ? .seconds(0) : min(span, .hours(24))
  }

  static let sandboxRenewalCountMax = 12

  /// The times between attempts to deliver; the sandbox makes one attempt.
  var deliverySpans: [Instant.Span] {
    environment == .sandbox
      ? [] : [.hours(1), .hours(12), .hours(24), .hours(48), .hours(72)]
  }
}
