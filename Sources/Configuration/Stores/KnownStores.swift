extension SettingsTable {
  /// With the stores that Coffer deals with.
  package static let coffer = SettingsTable(stores: [
    StripeConfiguration.self, AppleConfiguration.self, GoogleConfiguration.self,
  ])
}
