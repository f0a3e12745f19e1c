package import Apple
package import Configuration
package import ProviderAPI
package import Stripe
package import Subscriptions

/// The stores that this deployment deals with: how their deliveries are proven, how they are asked.
package struct Stores: Sendable {
  /// Nil where the provider is off.
  package var stripe: WebhookSecrets?
  package var apple: AppleVerifier?
  /// Nil where its API is never asked.
  package var stripeAPI: StripeAPI?

  package init(
    stripe: WebhookSecrets? = nil, stripeAPI: StripeAPI? = nil, apple: AppleVerifier? = nil
  ) {
    self.stripe = stripe
    self.stripeAPI = stripeAPI
    self.apple = apple
  }

  /// As configured; `transport` makes the way to one provider's API.
  package init(
    _ configuration: BillingConfiguration,
    transport: (ObjectKey.Provider) -> any ProviderTransport
  ) throws(StoresError) {
    if let stripe = configuration.stripe {
      self.stripe = WebhookSecrets(stripe.webhookSecrets)
      stripeAPI = stripe.apiKey.map { key in
        StripeAPI(
          base: stripe.apiURL, key: key, partition: ObjectKey.Partition(stripe.partition),
          transport: transport(.stripe))
      }
    }
    if let apple = configuration.apple {
      let roots = apple.root.map { [$0] }
      let trust =
        roots.map {
          AppleTrust(roots: $0, bundleID: apple.bundleID, appAppleID: apple.appID)
        } ?? AppleTrust(bundleID: apple.bundleID, appAppleID: apple.appID)
      guard let trust else {
        throw StoresError(
          text: "\(Key.appleBundleID.rawValue) or \(Key.appleRootFile.rawValue) cannot be used")
      }
      self.apple = AppleVerifier(trust)
    }
  }

  /// Whose objects can be read again.
  var readable: Set<ObjectKey.Provider> {
    var providers: Set<ObjectKey.Provider> = []
    if stripeAPI != nil { providers.insert(.stripe) }
    return providers
  }
}

/// A setting that has the right form and yet cannot be used, in one sentence.
package struct StoresError: Error, CustomStringConvertible {
  let text: String
  package var description: String { text }
}
