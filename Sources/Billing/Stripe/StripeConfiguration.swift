package import Base
package import Configuration
package import Tiers

/// What the programs need to know about Stripe; there is none where Stripe is off.
package struct StripeConfiguration: StoreConfiguration {
  /// The endpoint's signing secrets, at least one; a delivery may be signed with any.
  package let webhookSecrets: [Secret]
  package let apiKey: Secret?
  /// Without a slash at its end.
  package let apiURL: String
  package let environment: StoreEnvironment

  package static let store = "stripe"
  package static let settings: [any AnySetting] = [
    Keys.webhookSecrets, Keys.apiKey, Keys.apiURL,
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
    guard let secrets, let apiURL else { return nil }
    webhookSecrets = secrets
    apiKey = key?.secret
    self.apiURL = apiURL
    environment = key?.environment ?? .live
  }

  package static func isAsked(_ reader: SettingsReader) -> Bool {
    reader.has(Keys.apiKey)
  }

  /// That of Stripe's key.
  package static func grantingEnvironment(
    reading reader: inout SettingsReader
  ) -> StoreEnvironment? {
    reader.value(Keys.apiKey)?.environment
  }
}
