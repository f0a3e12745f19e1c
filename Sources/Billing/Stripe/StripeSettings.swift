package import Base
package import Configuration
import Tiers

extension StripeConfiguration {
  /// Stripe's settings, one row each.
  package enum Keys {
    package static let webhookSecrets = Setting<[Secret]>(
      "COFFER_STRIPE_WEBHOOK_SECRETS", for: [.billing, .command], .meaning("Stripe is off"),
      text:
        "Comma list of the endpoint's signing secrets. All are accepted, so that one can be "
        + "rotated.",
      example: "whsec_new, whsec_old",
      parser: .list { (text, number) throws(ParseFailure) in
        guard text.hasPrefix("whsec_"), text.utf8.count > 6, isPrintable(text) else {
          throw ParseFailure("secret \(number) does not begin with whsec_")
        }
        return Secret(text)
      }, isSecret: { _ in true })

    package static let apiKey = Setting<StripeKey>(
      "COFFER_STRIPE_API_KEY", for: [.billing, .command], .meaning("none; live deliveries grant"),
      text:
        "Stripe API key. Its kind decides which deliveries grant storage: those of test mode with "
        + "sk_test_ or rk_test_, those of live mode with sk_live_ or rk_live_.",
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
      text: "URL of Stripe's API. Plain http is allowed only to this machine.",
      example: "https://api.stripe.com", parser: .url)

    package static let returnURLs = Setting<[String]>(
      "COFFER_STRIPE_RETURN_URLS", for: [.billing, .command],
      .meaning("Stripe's pages are off"),
      text:
        "Comma list of the origins to which Stripe's pages may return customers. The return "
        + "addresses that apps send must begin with one of them.",
      example: "https://app.example.com", parser: .origins)

    package static let portal = Setting<String>(
      "COFFER_STRIPE_PORTAL", for: [.billing, .command], .meaning("the account's default"),
      text:
        "The configuration of Stripe's customer portal, which decides what customers can do "
        + "there.",
      example: "bpc_1example",
      parser: Parser { (text) throws(ParseFailure) in
        guard text.hasPrefix("bpc_"), isPrintable(text) else {
          throw ParseFailure("\(quoted(text)) does not begin with bpc_")
        }
        return text
      })

    package static let checkout = Setting<[StripeBuying.Extra]>(
      "COFFER_STRIPE_CHECKOUT", for: [.billing, .command], .meaning("none"),
      text:
        "Comma list of options of Stripe's checkout page: promotion_codes accepts codes, "
        + "automatic_tax lets Stripe Tax add taxes (also to purchases in the app), billing_address "
        + "always asks for the address, tax_ids asks companies for their tax number.",
      example: "promotion_codes, automatic_tax",
      parser: .list { (text, _) throws(ParseFailure) in
        guard let extra = StripeBuying.Extra(rawValue: text) else {
          let known = StripeBuying.Extra.allCases.map(\.rawValue).joined(separator: ", ")
          throw ParseFailure("\(quoted(text)) is none of \(known)")
        }
        return extra
      })

    package static let migration = Setting<[String]>(
      "COFFER_STRIPE_MIGRATE_FROM", for: [.billing, .command], .meaning("none"),
      text:
        "Comma list of the stores (apple, google) from which subscriptions may move to Stripe. "
        + "Name one only if its programme requires no reports of payments outside the store, "
        + "because Coffer sends none.",
      example: "apple",
      parser: .list { (text, _) throws(ParseFailure) in
        guard text == "apple" || text == "google" else {
          throw ParseFailure("\(quoted(text)) is neither apple nor google")
        }
        return text
      })
  }
}

/// A key of Stripe's API. It is valid in one of Stripe's two environments only.
package struct StripeKey: Sendable {
  let secret: Secret
  let environment: StoreEnvironment
}
