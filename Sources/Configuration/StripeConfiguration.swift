package import Base

/// What the programs need to know about Stripe; there is none where Stripe is off.
package struct StripeConfiguration: Sendable {
  /// The endpoint's signing secrets, at least one; a delivery may be signed with any.
  package let webhookSecrets: [Secret]
  package let apiKey: Secret?
  /// Without a slash at its end.
  package let apiURL: String
  package let partition: Partition

  /// Which of Stripe's two worlds grants storage; the other is recorded and grants nothing.
  package enum Partition: String, Sendable { case live, sandbox }
}

extension SettingsReader {
  mutating func stripe() -> StripeConfiguration? {
    let secrets = stripeWebhookSecrets()
    let (apiKey, partition) = stripeAPIKey()
    let apiURL = url(.stripeAPIURL)
    if apiKey != nil, !has(.stripeWebhookSecrets) {
      refuse(
        .stripeAPIKey, "is set, but \(Key.stripeWebhookSecrets.rawValue) is not: set both or none")
    }
    guard let secrets, let apiURL else { return nil }
    return StripeConfiguration(
      webhookSecrets: secrets, apiKey: apiKey, apiURL: apiURL, partition: partition)
  }

  /// Which world's deliveries grant: that of Stripe's key, live where there is none.
  mutating func grantingPartition() -> StripeConfiguration.Partition { stripeAPIKey().1 }

  mutating func stripeWebhookSecrets() -> [Secret]? {
    guard let parts = list(.stripeWebhookSecrets) else { return nil }
    for (index, part) in parts.enumerated()
    where !part.hasPrefix("whsec_") || part.utf8.count == 6 || !isPrintable(part) {
      refuse(.stripeWebhookSecrets, "secret \(index + 1) does not begin with whsec_")
    }
    return parts.map { Secret($0) }
  }

  private mutating func stripeAPIKey() -> (Secret?, StripeConfiguration.Partition) {
    guard let text = text(.stripeAPIKey) else { return (nil, .live) }
    let isSandbox = text.hasPrefix("sk_test_") || text.hasPrefix("rk_test_")
    let isLive = text.hasPrefix("sk_live_") || text.hasPrefix("rk_live_")
    if !isSandbox && !isLive || !isPrintable(text) {
      refuse(.stripeAPIKey, "does not begin with sk_test_, rk_test_, sk_live_ or rk_live_")
    }
    return (Secret(text), isSandbox ? .sandbox : .live)
  }
}
