/// A product of a shop in front of the server: a period of a plan, at a price in euros.
package struct BTCPayProduct: Hashable, Sendable {
  /// `metadata.itemCode`.
  package let itemCode: String
  /// The plan's id in the catalogue.
  package let plan: String
  package let cents: Int64
  package let months: Int64
  /// Whether it is added to a plan.
  package let isAddition: Bool

  package init(
    _ itemCode: String, plan: String, cents: Int64, months: Int64, isAddition: Bool = false
  ) {
    self.itemCode = itemCode
    self.plan = plan
    self.cents = cents
    self.months = months
    self.isAddition = isAddition
  }

  package static let premiumMonth = BTCPayProduct(
    "premium-month", plan: "premium", cents: 299, months: 1)
  package static let premiumYear = BTCPayProduct(
    "premium-year", plan: "premium", cents: 3000, months: 12)
  package static let plusMonth = BTCPayProduct("plus-month", plan: "plus", cents: 999, months: 1)
  package static let extraMonth = BTCPayProduct(
    "extra-month", plan: "extra", cents: 99, months: 1, isAddition: true)
  /// A product without storage.
  package static let stickers = BTCPayProduct("stickers", plan: "", cents: 500, months: 0)
}
