import Apple
import BTCPay
package import Base
package import Configuration
import Google
package import ProviderAPI
package import Stores
import Stripe
import Subscriptions

/// The only list of stores. A store is added by its line here.
private let knownStores: [any Store.Type] = [
  StripeStore.self, AppleStore.self, GoogleStore.self, BTCPayStore.self,
]

extension StoreList {
  /// All known stores, switched off.
  package static let known = StoreList(knownStores.map { $0.init() })

  /// All known stores. The given ones are as set up; the others are switched off.
  package static func known(with configured: any Store...) -> StoreList {
    StoreList(known.map { store in configured.first { $0.provider == store.provider } ?? store })
  }

  /// All known stores, as configured. `transport` returns the transport to one store's API.
  package init(
    _ configurations: [any StoreConfiguration],
    transport: (String) -> any ProviderTransport, clock: Clock
  ) throws(StoreSetupError) {
    var stores: [any Store] = []
    for type in knownStores {
      stores.append(
        try type.configured(among: configurations, transport: transport, clock: clock))
    }
    self.init(stores)
  }
}

extension SettingsTable {
  /// The settings of an installation, including those of every store.
  package static let coffer = SettingsTable(stores: knownStores.map { $0.configuration })
}
