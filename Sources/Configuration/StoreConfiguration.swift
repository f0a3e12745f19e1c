package import Tiers

/// The configuration of one store, made from settings that the store defines.
///
/// An installation has a list of such types. Only the store itself knows which settings they are.
package protocol StoreConfiguration: Sendable {
  /// The store's name in products of the catalogue and in keys of objects: a lower-case word.
  static var store: String { get }
  /// The settings in the order in which help lists them.
  static var settings: [any AnySetting] { get }

  /// Nil if the store is off, or if the reader holds problems.
  init?(reading reader: inout SettingsReader)

  /// Whether the settings allow `coffer-billing` to query the store.
  static func isAsked(_ reader: SettingsReader) -> Bool
  /// The environment whose purchases count for everyone, if a setting of this store decides it.
  static func grantingEnvironment(reading reader: inout SettingsReader) -> StoreEnvironment?
  /// The reason why a product of the catalogue cannot be this store's, as a sentence without its subject.
  static func refusal(of product: Plan.Product, of plan: Plan) -> String?
}

extension StoreConfiguration {
  package static func grantingEnvironment(
    reading reader: inout SettingsReader
  ) -> StoreEnvironment? { nil }

  package static func refusal(of product: Plan.Product, of plan: Plan) -> String? {
    product.trialDays.map { _ in "has trial_days, and its store gives free days by itself" }
  }
}
