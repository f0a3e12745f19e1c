package import Apple
internal import Base
package import Configuration
package import Google
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
  /// Production and sandbox are two servers; empty where neither is ever asked.
  package var appleAPIs: [ObjectKey.Partition: AppleAPI]

  package var google: GoogleVerifier?
  package var googleAPI: GoogleAPI?

  package init(
    stripe: WebhookSecrets? = nil, stripeAPI: StripeAPI? = nil, apple: AppleVerifier? = nil,
    appleAPIs: [ObjectKey.Partition: AppleAPI] = [:], google: GoogleVerifier? = nil,
    googleAPI: GoogleAPI? = nil
  ) {
    self.stripe = stripe
    self.stripeAPI = stripeAPI
    self.apple = apple
    self.appleAPIs = appleAPIs
    self.google = google
    self.googleAPI = googleAPI
  }

  /// As configured; `transport` makes the way to one provider's API.
  package init(
    _ configuration: BillingConfiguration,
    transport: (ObjectKey.Provider) -> any ProviderTransport
  ) throws(StoresError) {
    self.init()
    if let stripe = configuration.store(StripeConfiguration.self) {
      self.stripe = WebhookSecrets(stripe.webhookSecrets)
      stripeAPI = stripe.apiKey.map { key in
        StripeAPI(
          base: stripe.apiURL, key: key, partition: ObjectKey.Partition(stripe.environment),
          transport: transport(.stripe))
      }
    }
    if let apple = configuration.store(AppleConfiguration.self) {
      let roots = apple.root.map { [$0] }
      let trust =
        roots.map {
          AppleTrust(roots: $0, bundleID: apple.bundleID, appAppleID: apple.appID)
        } ?? AppleTrust(bundleID: apple.bundleID, appAppleID: apple.appID)
      guard let trust else {
        throw StoresError(
          text: "\(AppleSettings.bundleID.name) or \(AppleSettings.rootFile.name) cannot be used")
      }
      let verifier = AppleVerifier(trust)
      self.apple = verifier
      if let api = apple.api {
        appleAPIs = try Self.appleAPIs(
          api, apple.bundleID, verifier, transport(.apple), configuration.clock)
      }
    }
    if let google = configuration.store(GoogleConfiguration.self) {
      try takeGoogle(google, transport(.google), configuration.clock)
    }
  }

  private mutating func takeGoogle(
    _ google: GoogleConfiguration, _ transport: any ProviderTransport, _ clock: Clock
  ) throws(StoresError) {
    guard let account = ServiceAccount(keyFile: google.serviceAccount) else {
      throw StoresError(
        text: "\(GoogleSettings.serviceAccountFile.name): is no key file of a service account")
    }
    self.google = GoogleVerifier(
      GoogleTrust(
        package: google.package, audience: google.pushAudience, email: google.pushEmail),
      // Not behind the circuit breaker of the API, whose failures say nothing of the key set.
      keys: PushKeys(
        url: google.keysURL, transport: CurlTransport(deadline: PushKeys.readDeadline),
        clock: clock))
    googleAPI = GoogleAPI(
      base: google.apiURL, package: google.package, account: account, transport: transport,
      clock: clock)
  }

  private static func appleAPIs(
    _ settings: AppleConfiguration.API, _ bundleID: String, _ verifier: AppleVerifier,
    _ transport: any ProviderTransport, _ clock: Clock
  ) throws(StoresError) -> [ObjectKey.Partition: AppleAPI] {
    guard
      let key = AppleAPIKey(
        keyID: settings.keyID, issuerID: settings.issuerID, bundleID: bundleID,
        pem: settings.key)
    else { throw StoresError(text: "\(AppleSettings.keyFile.name): holds no P-256 key in PEM") }
    func api(_ base: String, _ partition: ObjectKey.Partition) -> AppleAPI {
      AppleAPI(
        base: base, partition: partition, key: key, verifier: verifier, transport: transport,
        clock: clock)
    }
    return [
      .live: api(settings.url, .live), .sandbox: api(settings.sandboxURL, .sandbox),
    ]
  }

  /// Whose objects can be read again.
  var readable: Set<ObjectKey.Provider> {
    var providers: Set<ObjectKey.Provider> = []
    if stripeAPI != nil { providers.insert(.stripe) }
    if !appleAPIs.isEmpty { providers.insert(.apple) }
    if googleAPI != nil { providers.insert(.google) }
    return providers
  }
}

/// A setting that has the right form and yet cannot be used, in one sentence.
package struct StoresError: Error, CustomStringConvertible {
  let text: String
  package var description: String { text }
}
