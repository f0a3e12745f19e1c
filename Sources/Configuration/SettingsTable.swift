/// All settings of an installation: those of Coffer itself, and those of each store.
package struct SettingsTable: Sendable {
  /// The beginning of every name. A name that has it but no row stops the start.
  package static let namePrefix = "COFFER_"

  /// The settings in the order of help and docs/settings.md.
  package let rows: [any AnySetting]
  package let stores: [any StoreConfiguration.Type]
  private let byName: [String: any AnySetting]

  package init(stores: [any StoreConfiguration.Type]) {
    self.stores = stores
    rows =
      [SharedSettings.database] + SyncSettings.all + [BillingSettings.listen]
      + SharedSettings.ofServers + [BillingSettings.sealingKeys, BillingSettings.searchKey]
      + stores.flatMap { $0.settings } + [
        BillingSettings.authorities, BillingSettings.origins, BillingSettings.restorePolicy,
        BillingSettings.refundAnswers, BillingSettings.reconcileHours,
        BillingSettings.deletionPolicy, BillingSettings.noticeURL, BillingSettings.noticeSecrets,
        BillingSettings.sandboxAccounts, CommandSettings.actor,
      ] + SharedSettings.ofTime + [SharedSettings.config]
    byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })
  }

  func setting(named name: String) -> (any AnySetting)? { byName[name] }
}
