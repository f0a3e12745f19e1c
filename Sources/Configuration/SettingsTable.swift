/// Every setting of an installation: those of Coffer itself, and those that each store brings.
package struct SettingsTable: Sendable {
  /// What every name begins with; a name that does and has no row stops the start.
  package static let namePrefix = "COFFER_"

  /// In the order in which help and docs/settings.md list them.
  package let rows: [any AnySetting]
  package let stores: [any StoreConfiguration.Type]
  private let byName: [String: any AnySetting]

  package init(stores: [any StoreConfiguration.Type]) {
    self.stores = stores
    rows =
      [SharedSettings.database] + SyncSettings.all + [BillingSettings.listen]
      + SharedSettings.ofServers + [BillingSettings.sealingKeys, BillingSettings.searchKey]
      + stores.flatMap { $0.settings }
      + [
        BillingSettings.authorities, BillingSettings.origins, BillingSettings.restorePolicy,
        BillingSettings.refundAnswers, BillingSettings.reconcileHours,
        BillingSettings.deletionPolicy,
        BillingSettings.noticeURL, BillingSettings.noticeSecrets,
        BillingSettings.sandboxAccounts,
        CommandSettings.actor,
      ]
      + SharedSettings.ofTime + [SharedSettings.config]
    byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })
  }

  /// Nil where there is no such setting.
  func setting(named name: String) -> (any AnySetting)? { byName[name] }
}
