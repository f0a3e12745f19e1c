package import Base
package import Crypto
package import HTTPServer
package import Storage
package import Tiers

/// What `coffer-billing` needs, checked.
package struct BillingConfiguration: Sendable {
  package let database: DatabaseLocation
  package let listen: SocketAddress
  package let metricsListen: SocketAddress
  package let trustedProxies: [AddressRange]
  package let connectionsPerAddressMax: Int
  package let catalogue: Catalogue
  package let sealingKeys: SealingKeys
  /// Nil where Stripe is off, which the program says at its start.
  package let stripe: StripeConfiguration?
  /// Nil where the App Store is off.
  package let apple: AppleConfiguration?
  /// Nil where Google Play is off.
  package let google: GoogleConfiguration?
  /// The hosts under which clients claim purchases; nil where they cannot.
  package let authorities: [String]?
  /// For whom sandbox purchases count as well.
  package let sandboxAccounts: Set<Identifier>
  package let clock: Clock

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .billing)
    let database = reader.database()
    let listen = reader.address(.billingListen)
    let metricsListen = reader.metricsAddress(fallback: "127.0.0.1:9465")
    trustedProxies = reader.trustedProxies()
    let connectionsPerAddressMax = reader.number(.connectionsPerAddress, in: 1...1_000_000)
    let catalogue = reader.catalogue()
    let sealingKeys = reader.sealingKeys()
    stripe = reader.stripe()
    apple = reader.apple()
    google = reader.google()
    authorities = reader.authorities(.billingAuthorities)
    sandboxAccounts = reader.sandboxAccounts()
    clock = reader.clock()
    guard let database, let listen, let metricsListen, let catalogue, let sealingKeys,
      let connectionsPerAddressMax,
      reader.problems.isEmpty
    else { throw ConfigurationError(reader.problems) }
    self.database = database
    self.listen = listen
    self.metricsListen = metricsListen
    self.catalogue = catalogue
    self.connectionsPerAddressMax = Int(connectionsPerAddressMax)
    self.sealingKeys = sealingKeys
  }
}
