package import Base

/// What the programs need to know about Stripe; there is none where Stripe is off.
package struct StripeConfiguration: StoreConfiguration {
  /// The endpoint's signing secrets, at least one; a delivery may be signed with any.
  package let webhookSecrets: [Secret]
  package let apiKey: Secret?
  /// Without a slash at its end.
  package let apiURL: String
  package let environment: GrantingEnvironment

  package static let store = "stripe"
  package static let settings: [any AnySetting] = [
    StripeSettings.webhookSecrets, StripeSettings.apiKey, StripeSettings.apiURL,
  ]

  package init?(reading reader: inout SettingsReader) {
    let secrets = reader.value(StripeSettings.webhookSecrets)
    let key = reader.value(StripeSettings.apiKey)
    let apiURL = reader.value(StripeSettings.apiURL)
    if reader.has(StripeSettings.apiKey), !reader.has(StripeSettings.webhookSecrets) {
      reader.refuse(
        StripeSettings.apiKey,
        "is set, but \(StripeSettings.webhookSecrets.name) is not: set both or none")
    }
    guard let secrets, let apiURL else { return nil }
    webhookSecrets = secrets
    apiKey = key?.secret
    self.apiURL = apiURL
    environment = key?.environment ?? .live
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(StripeSettings.apiKey)
  }

  /// That of Stripe's key.
  package static func grantingEnvironment(
    reading reader: inout SettingsReader
  ) -> GrantingEnvironment? {
    reader.value(StripeSettings.apiKey)?.environment
  }
}
