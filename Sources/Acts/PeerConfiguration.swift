package import Base
package import Configuration
package import HTTPServer
import Stripe

/// The configuration of commands that talk to the running programs.
package struct PeerConfiguration: Sendable {
  package let syncListen: SocketAddress
  package let billingListen: SocketAddress
  /// In the order written; empty if `COFFER_SYNC_AUTHORITIES` is absent.
  package let authorities: [String]
  /// Empty if Stripe is off.
  package let stripeWebhookSecrets: [Secret]
  package let clock: Clock

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    let syncListen = reader.value(SyncSettings.listen)
    let billingListen = reader.value(BillingSettings.listen)
    authorities = reader.value(SyncSettings.authorities) ?? []
    stripeWebhookSecrets = reader.value(StripeConfiguration.Keys.webhookSecrets) ?? []
    clock = reader.clock()
    guard let syncListen, let billingListen, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.syncListen = syncListen
    self.billingListen = billingListen
  }
}
