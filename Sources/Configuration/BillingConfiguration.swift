package import Base
package import Crypto
package import HTTPServer
package import Storage
package import Tiers

/// The checked configuration of `coffer-billing`.
package struct BillingConfiguration: Sendable {
  package let database: DatabaseLocation
  package let listen: SocketAddress
  package let metrics: MetricsListener
  package let trustedProxies: [AddressRange]
  package let connectionsPerAddressMax: Int
  /// The configured catalogue; `CatalogueOfRecord` decides which one applies.
  package let catalogue: Catalogue?
  package let sealingKeys: SealingKeys
  /// The key that makes personal data searchable; nil if none of it is.
  package let searchKey: SearchKey?
  /// The stores that are not off.
  package let stores: [any StoreConfiguration]
  /// The environment whose purchases count for everyone.
  package let grantingEnvironment: StoreEnvironment
  /// The hosts at which clients claim purchases; nil if they cannot.
  package let authorities: [String]?
  /// The origins of web pages that may claim purchases.
  package let origins: Set<String>
  package let restorePolicy: RestorePolicy
  package let refundAnswers: RefundAnswers
  package let deletionPolicy: DeletionPolicy
  /// The number of instances of this program that share the database.
  package let instanceCount: Int64
  /// The time between reconciliations; nil if only an operator begins one.
  package let reconciliationInterval: Instant.Span?
  /// The server that is notified of changes; nil if none is.
  package let noticeReceiver: WebhookReceiver?
  /// The accounts for which sandbox purchases count as well.
  package let sandboxAccounts: Set<Identifier>
  package let clock: Clock

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .billing)
    let database = reader.value(SharedSettings.database)
    let listen = reader.value(BillingSettings.listen)
    let metrics = reader.metricsListener()
    trustedProxies = reader.value(SharedSettings.trustedProxies) ?? []
    connectionsPerAddressMax = Int(reader.number(SharedSettings.connectionsPerAddress))
    catalogue = reader.catalogue()
    let sealingKeys = reader.value(BillingSettings.sealingKeys)
    searchKey = reader.value(BillingSettings.searchKey)
    stores = reader.configuredStores()
    grantingEnvironment = reader.grantingEnvironment()
    authorities = reader.value(BillingSettings.authorities)
    origins = Set(reader.value(BillingSettings.origins) ?? [])
    restorePolicy = reader.value(BillingSettings.restorePolicy) ?? .refuse
    let hours = reader.number(BillingSettings.reconcileHours)
    reconciliationInterval = hours == 0 ? nil : .hours(hours)
    instanceCount = reader.number(SharedSettings.instances)
    deletionPolicy = reader.value(BillingSettings.deletionPolicy) ?? .periodEnd
    refundAnswers = reader.value(BillingSettings.refundAnswers) ?? .off
    noticeReceiver = reader.receiver(BillingSettings.noticeURL, BillingSettings.noticeSecrets)
    sandboxAccounts = Set(reader.value(BillingSettings.sandboxAccounts) ?? [])
    clock = reader.clock()
    guard let database, let listen, let metrics, let sealingKeys, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.database = database
    self.listen = listen
    self.metrics = metrics
    self.sealingKeys = sealingKeys
  }

  /// The configuration of a store; nil if the store is off.
  package func store<Store: StoreConfiguration>(_ type: Store.Type) -> Store? {
    for case let store as Store in stores { return store }
    return nil
  }
}
