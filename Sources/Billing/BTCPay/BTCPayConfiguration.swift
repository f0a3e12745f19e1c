package import Base
package import Configuration
package import Tiers

/// The programs' configuration of a BTCPay server; there is none if it is off.
package struct BTCPayConfiguration: StoreConfiguration {
  /// Has no slash at its end.
  package let url: String
  package let storeID: String
  package let apiKey: Secret
  /// The webhook's secrets, at least one. A delivery may be signed with any of them.
  package let webhookSecrets: [Secret]

  package static let store = "btcpay"
  package static let settings: [any AnySetting] = [
    Keys.url, Keys.storeID, Keys.apiKey, Keys.webhookSecrets,
  ]

  package init?(reading reader: inout SettingsReader) {
    let isOn = reader.together(Keys.url, [Keys.storeID, Keys.apiKey, Keys.webhookSecrets])
    guard isOn, let url = reader.value(Keys.url), let storeID = reader.value(Keys.storeID),
      let apiKey = reader.value(Keys.apiKey),
      let webhookSecrets = reader.value(Keys.webhookSecrets)
    else { return nil }
    self.url = url
    self.storeID = storeID
    self.apiKey = apiKey
    self.webhookSecrets = webhookSecrets
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool { reader.has(Keys.url) }

  /// An invoice says what it asks for, but only the catalogue says what it should ask for.
  package static func refusal(of product: Plan.Product, of plan: Plan) -> String? {
    if product.trialDays != nil { return "has trial_days; an invoice has none" }
    let isPriced = product.price != nil || plan.products.contains { $0.productID == product.id }
    return isPriced
      ? nil : "needs price, the invoice's itemCode, with amount, currency and interval"
  }
}
