import ProviderFakes
package import Tiers

package let simulationCatalogue: Catalogue = {
  do {
    return try Catalogue(
      version: "simulation",
      free: Plan(id: "free", title: "Free", byteCount: 1_000_000),
      paid: [
        Plan(
          id: "premium", title: "Premium", byteCount: 30_000_000_000,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.premiumMonthly.product),
            .stripe(.premiumMonthly), .stripe(.premiumYearly),
            Plan.Product(provider: "apple", id: "com.example.coffer.premium.monthly"),
            Plan.Product(provider: "apple", id: "com.example.coffer.premium.yearly"),
            Plan.Product(provider: "google", id: "premium"),
            .btcpay(.premiumMonth), .btcpay(.premiumYear),
          ]),
        Plan(
          id: "plus", title: "Plus", byteCount: 200_000_000_000,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.plusMonthly.product),
            .stripe(.plusMonthly),
            Plan.Product(provider: "apple", id: "com.example.coffer.plus.monthly"),
            Plan.Product(provider: "google", id: "plus"),
            .btcpay(.plusMonth),
          ]),
        Plan(
          id: "extra", title: "Extra", byteCount: 2_000_000_000, isAddition: true,
          products: [
            Plan.Product(provider: "stripe", id: StripePrice.extraMonthly.product),
            Plan.Product(provider: "google", id: "extra"),
            .btcpay(.extraMonth),
          ]),
      ],
      ignored: [
        Plan.Product(provider: "stripe", id: StripePrice.stickersMonthly.product),
        .btcpay(.stickers),
      ])
  } catch {
    preconditionFailure("\(error)")
  }
}()

extension Plan.Product {
  fileprivate static func stripe(_ price: StripePrice) -> Plan.Product {
    Plan.Product(
      provider: "stripe", id: price.id,
      price: Plan.Price(
        amountMinorUnits: price.amount, currency: "usd",
        interval: price.interval == .year ? .year : .month), productID: price.product)
  }

  fileprivate static func btcpay(_ product: BTCPayProduct) -> Plan.Product {
    Plan.Product(
      provider: "btcpay", id: product.itemCode,
      price: Plan.Price(
        amountMinorUnits: product.cents, currency: "eur",
        interval: product.months == 12 ? .year : .month))
  }
}
