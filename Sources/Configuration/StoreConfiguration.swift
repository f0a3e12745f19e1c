package import Tiers

/// What one store needs to know, made of settings that it brings along.
///
/// An installation has a list of such types. Nothing but the store itself knows which settings they
/// are.
package protocol StoreConfiguration: Sendable {
  /// As products of the catalogue and keys of objects name it: a lower-case word.
  static var store: String { get }
  /// In the order in which help lists them.
  static var settings: [any AnySetting] { get }

  /// Nil where the store is off, or where the reader holds what is wrong.
  init?(reading reader: inout SettingsReader)

  /// Whether the settings allow `coffer-billing` to ask the store.
  static func isAsked(_ reader: SettingsReader) -> Bool
  /// The environment whose purchases count for everybody, where a setting of this store decides it.
  static func grantingEnvironment(reading reader: inout SettingsReader) -> StoreEnvironment?
  /// Why a product of the catalogue can be none of this store's, in a sentence without its subject.
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
