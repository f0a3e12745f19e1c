internal import Apple
internal import BTCPay
package import Base
package import Configuration
internal import Google
package import ProviderAPI
package import Stores
internal import Stripe
internal import Subscriptions

/// The one list of stores: a store joins in by its line here.
private let knownStores: [any Store.Type] = [
  StripeStore.self, AppleStore.self, GoogleStore.self, BTCPayStore.self,
]

extension StoreList {
  /// Every store that there is, switched off.
  package static let known = StoreList(knownStores.map { $0.init() })

  /// Every store that there is, these as they are set up.
  package static func known(with configured: any Store...) -> StoreList {
    StoreList(known.map { store in configured.first { $0.provider == store.provider } ?? store })
  }

  /// Every store that there is, as configured; `transport` makes the way to one store's API.
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
  /// The settings of an installation, those of every store among them.
  package static let coffer = SettingsTable(stores: knownStores.map { $0.configuration })
}
