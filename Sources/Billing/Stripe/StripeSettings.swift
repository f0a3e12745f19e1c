package import Base
package import Configuration
internal import Tiers

extension StripeConfiguration {
  /// Its settings, a row each.
  package enum Keys {
    package static let webhookSecrets = Setting<[Secret]>(
      "COFFER_STRIPE_WEBHOOK_SECRETS", for: [.billing, .command], .meaning("Stripe is off"),
      text: "Comma list of the endpoint's signing secrets; each is accepted, so that one can "
        + "be rotated.",
      example: "whsec_new, whsec_old",
      parser: .list { (text, number) throws(ParseFailure) in
        guard text.hasPrefix("whsec_"), text.utf8.count > 6, isPrintable(text) else {
          throw ParseFailure("secret \(number) does not begin with whsec_")
        }
        return Secret(text)
      }, isSecret: { _ in true })

    package static let apiKey = Setting<StripeKey>(
      "COFFER_STRIPE_API_KEY", for: [.billing, .command], .meaning("none; live deliveries grant"),
      text: "Stripe API key. Its kind decides which deliveries grant storage: with sk_test_ or "
        + "rk_test_ those of test mode, with sk_live_ or rk_live_ those of live mode.",
      example: "rk_live_example",
      parser: Parser { (text) throws(ParseFailure) in
        let isSandbox = text.hasPrefix("sk_test_") || text.hasPrefix("rk_test_")
        let isLive = text.hasPrefix("sk_live_") || text.hasPrefix("rk_live_")
        guard isSandbox || isLive, isPrintable(text) else {
          throw ParseFailure("does not begin with sk_test_, rk_test_, sk_live_ or rk_live_")
        }
        return StripeKey(secret: Secret(text), environment: isSandbox ? .sandbox : .live)
      }, isSecret: { _ in true })

    package static let apiURL = Setting<String>(
      "COFFER_STRIPE_API_URL", for: [.billing, .command], .value("https://api.stripe.com"),
      text: "Where Stripe's API answers. Plain http only to this machine.",
      example: "https://api.stripe.com", parser: .url)
  }
}

/// A key of Stripe's API: it opens one of Stripe's two worlds and not the other.
package struct StripeKey: Sendable {
  let secret: Secret
  let environment: StoreEnvironment
}
