package import Base
package import Configuration
package import Tiers

/// The programs' configuration of Stripe; there is none if Stripe is off.
package struct StripeConfiguration: StoreConfiguration {
  /// The endpoint's signing secrets, at least one. A delivery may be signed with any of them.
  package let webhookSecrets: [Secret]
  package let apiKey: Secret?
  /// Has no slash at its end.
  package let apiURL: String
  package let environment: StoreEnvironment
  package let buying: StripeBuying

  package static let store = "stripe"
  package static let settings: [any AnySetting] = [
    Keys.webhookSecrets, Keys.apiKey, Keys.apiURL, Keys.returnURLs, Keys.portal, Keys.checkout,
    Keys.migration,
  ]

  package init?(reading reader: inout SettingsReader) {
    let secrets = reader.value(Keys.webhookSecrets)
    let key = reader.value(Keys.apiKey)
    let apiURL = reader.value(Keys.apiURL)
    if reader.has(Keys.apiKey), !reader.has(Keys.webhookSecrets) {
      reader.refuse(
        Keys.apiKey,
        "is set, but \(Keys.webhookSecrets.name) is not: set both or none")
    }
    var buying = StripeBuying()
    buying.origins = reader.value(Keys.returnURLs) ?? []
    buying.portal = reader.value(Keys.portal)
    buying.extras = Set(reader.value(Keys.checkout) ?? [])
    buying.migratable = Set(reader.value(Keys.migration) ?? [])
    self.buying = buying
    guard let secrets, let apiURL else { return nil }
    webhookSecrets = secrets
    apiKey = key?.secret
    self.apiURL = apiURL
    environment = key?.environment ?? .live
  }

  /// Refuses nothing: customers buy plans at Stripe by requests to this server, which asks Stripe for the free days.
  package static func refusal(of product: Plan.Product, of plan: Plan) -> String? { nil }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(Keys.apiKey)
  }

  /// The environment of Stripe's key.
  package static func grantingEnvironment(
    reading reader: inout SettingsReader
  ) -> StoreEnvironment? {
    reader.value(Keys.apiKey)?.environment
  }
}

/// Settings for sales through Stripe's API, in addition to the catalogue.
package struct StripeBuying: Sendable {
  /// The origins to which Stripe's pages may send customers back.
  package var origins: [String] = []
  /// The configuration of the customer portal; nil: the account's default.
  package var portal: String?
  /// What else Stripe's page for buying does.
  package var extras: Set<Extra> = []
  /// The stores whose subscriptions may be moved to Stripe.
  package var migratable: Set<String> = []

  package init() {}

  package enum Extra: String, Sendable, CaseIterable {
    case promotionCodes = "promotion_codes"
    case automaticTax = "automatic_tax"
    case billingAddress = "billing_address"
    case taxIDs = "tax_ids"
  }

  /// The fields of a page for buying, except for the purchase itself. What an existing customer enters there is
  /// stored only if the form says so, and taxes need it. https://docs.stripe.com/api/checkout/sessions/create
  package var pageForm: [(name: String, value: String)] {
    var form: [(name: String, value: String)] = []
    if extras.contains(.promotionCodes) { form.append(("allow_promotion_codes", "true")) }
    if extras.contains(.automaticTax) { form.append(("automatic_tax[enabled]", "true")) }
    if extras.contains(.billingAddress) {
      form.append(("billing_address_collection", "required"))
    }
    if extras.contains(.taxIDs) { form.append(("tax_id_collection[enabled]", "true")) }
    if !extras.isDisjoint(with: [.automaticTax, .billingAddress, .taxIDs]) {
      form.append(("customer_update[address]", "auto"))
    }
    if extras.contains(.taxIDs) { form.append(("customer_update[name]", "auto")) }
    return form
  }

  /// The fields of a subscription that is bought without a page. It is taxed in the same way.
  package var subscriptionForm: [(name: String, value: String)] {
    extras.contains(.automaticTax) ? [("automatic_tax[enabled]", "true")] : []
  }

  /// Whether a page may send a customer back to this address.
  package func allows(_ address: String) -> Bool {
    guard address.utf8.count <= 2000, isPrintable(address) else { return false }
    return origins.contains { origin in
      guard address.hasPrefix(origin) else { return false }
      let next = address.utf8.dropFirst(origin.utf8.count).first
      return next.map { "/?#".utf8.contains($0) } ?? true
    }
  }
}
