/// An API version that a webhook endpoint can be pinned to.
package enum StripeVersion: String, Sendable, CaseIterable {
  case y2020 = "2020-08-27"
  case acacia = "2024-11-20.acacia"
  case basil = "2025-03-31.basil"
  case dahlia = "2026-07-29.dahlia"
  case endive = "2026-10-28.endive"

  /// Without the release train's name; dates sort as text.
  var date: Substring { rawValue.prefix(10) }

  /// Periods are in items, invoices name their parent, and payments are separate objects.
  package var isBasil: Bool { date >= Self.basil.date }

  /// The length of a schedule's phase can be a number of periods.
  /// https://docs.stripe.com/changelog/clover/2025-09-30/remove-iterations
  var takesIterations: Bool { date < "2025-09-30" }

  /// Refunds have their own events, in addition to those of their charge.
  var hasRefundEvents: Bool { self != .y2020 }
}

/// A price in the shop. The premium prices are those of `webhooks/catalogue.json`.
package struct StripePrice: Hashable, Sendable {
  package let id: String
  package let product: String
  package let amount: Int64
  package let interval: Interval
  package let nickname: String
  package let title: String

  package enum Interval: String, Sendable {
    case month, year

    var monthCount: Int64 { self == .year ? 12 : 1 }
  }

  private static let premium = "prod_oeuwN9CMGohKpA"

  package static let premiumMonthly = StripePrice(
    id: "price_1CsrecLk4QzTmRvXcE0wuCJC", product: premium, amount: 299, interval: .month,
    nickname: "Premium monthly", title: "Coffer Premium")
  package static let premiumYearly = StripePrice(
    id: "price_1SXQR7Lk4QzTmRvXcE0wvE5o", product: premium, amount: 3000, interval: .year,
    nickname: "Premium yearly", title: "Coffer Premium")
  static let all: [StripePrice] = [
    premiumMonthly, premiumYearly, plusMonthly, extraMonthly, stickersMonthly, supportMonthly,
  ]

  /// A second, larger tier.
  package static let plusMonthly = StripePrice(
    id: "price_1Hq7tdLk4QzTmRvXcE0wPl5m", product: "prod_Rk2vPlusXq81Bd", amount: 999,
    interval: .month, nickname: "Plus monthly", title: "Coffer Plus")
  /// Added to a plan.
  package static let extraMonthly = StripePrice(
    id: "price_1Ex2gBLk4QzTmRvXcE0wEx2g", product: "prod_Ex2gExtraBlk7Qw", amount: 99,
    interval: .month, nickname: "Extra monthly", title: "Coffer Extra")
  /// Listed in the catalogue as ignored.
  package static let stickersMonthly = StripePrice(
    id: "price_1Wm3zsLk4QzTmRvXcE0wSt1k", product: "prod_v0BR3HlnAao2zO", amount: 500,
    interval: .month, nickname: "Stickers", title: "Sticker club")
  /// Not listed anywhere.
  package static let supportMonthly = StripePrice(
    id: "price_1Bz9unLk4QzTmRvXcE0wSu9p", product: "prod_c7SupportKq0w4", amount: 899,
    interval: .month, nickname: "Support", title: "Priority support")
}
