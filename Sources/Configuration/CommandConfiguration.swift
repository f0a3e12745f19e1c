package import Base
package import HTTPServer
package import Storage
package import Tiers

/// What the commands of `coffer` that read or write rows need.
package struct StoreConfiguration: Sendable {
  package let database: DatabaseLocation
  package let catalogue: Catalogue
  /// As `coffer-billing` has them, so that both derive the same.
  package let grantingPartition: StripeConfiguration.Partition
  package let sandboxAccounts: Set<Identifier>
  package let asked: AskedStores
  package let clock: Clock

  /// The stores that `coffer-billing` has a key to ask.
  package struct AskedStores: Sendable {
    package let stripe: Bool
    package let apple: Bool
    package let google: Bool
  }

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    asked = AskedStores(
      stripe: reader.has(.stripeAPIKey), apple: reader.has(.appleIssuerID),
      google: reader.has(.googlePackage))
    let database = reader.database()
    grantingPartition = reader.grantingPartition()
    sandboxAccounts = reader.sandboxAccounts()
    let catalogue = reader.catalogue()
    clock = reader.clock()
    guard let database, let catalogue, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.database = database
    self.catalogue = catalogue
  }
}

/// What `coffer plan list` needs.
package struct PlansConfiguration: Sendable {
  package let catalogue: Catalogue

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    let catalogue = reader.catalogue()
    guard let catalogue, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.catalogue = catalogue
  }
}

/// What `coffer config --check-stripe` needs.
package struct StripeCheckConfiguration: Sendable {
  /// Nil where Stripe is off.
  package let stripe: StripeConfiguration?

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    stripe = reader.stripe()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
  }
}

/// What the commands of `coffer` that speak to the running programs need.
package struct PeerConfiguration: Sendable {
  package let syncListen: SocketAddress
  package let billingListen: SocketAddress
  /// In the order written; empty where `COFFER_SYNC_AUTHORITIES` is absent.
  package let authorities: [String]
  /// Empty where Stripe is off.
  package let stripeWebhookSecrets: [Secret]
  package let clock: Clock

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    let syncListen = reader.address(.syncListen)
    let billingListen = reader.address(.billingListen)
    authorities = reader.authorities(.syncAuthorities) ?? []
    stripeWebhookSecrets = reader.stripeWebhookSecrets() ?? []
    clock = reader.clock()
    guard let syncListen, let billingListen, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.syncListen = syncListen
    self.billingListen = billingListen
  }
}
