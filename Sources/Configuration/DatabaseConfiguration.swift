package import Base
package import Crypto
package import Storage
package import Tiers

/// What the commands of `coffer` that read or write rows need.
package struct DatabaseConfiguration: Sendable {
  package let database: DatabaseLocation
  /// As given; `CatalogueOfRecord` says what holds.
  package let givenCatalogue: Catalogue?
  /// What holds, once the database was asked.
  package private(set) var catalogue: Catalogue
  /// As `coffer-billing` has them, so that both derive the same.
  package let grantingEnvironment: StoreEnvironment
  package let sandboxAccounts: Set<Identifier>
  /// The stores that `coffer-billing` has a key to ask.
  package let askedStores: [String]
  /// What opens kept deliveries; nil where the command was given none.
  package let sealingKeys: SealingKeys?
  /// Where objects lie; nil where the command was not told.
  package let objectsDirectory: String?
  /// What finds what is personal; nil where nothing is to be found by it.
  package let searchKey: SearchKey?
  package let clock: Clock

  /// Of another database than the settings', where one is given.
  package init(
    _ settings: Settings, of other: DatabaseLocation? = nil
  ) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    askedStores = reader.stores.filter { $0.isAsked(reader) }.map { $0.store }
    let database = other ?? reader.value(SharedSettings.database)
    grantingEnvironment = reader.grantingEnvironment()
    sandboxAccounts = Set(reader.value(BillingSettings.sandboxAccounts) ?? [])
    sealingKeys = reader.value(BillingSettings.sealingKeys)
    searchKey = reader.value(BillingSettings.searchKey)
    objectsDirectory = reader.value(SyncSettings.objects)
    let given = reader.catalogue()
    // Another database's catalogue is its own.
    givenCatalogue = other == nil ? given : nil
    catalogue = given ?? .standard
    clock = reader.clock()
    guard let database, reader.problems.isEmpty else {
      throw ConfigurationError(reader.problems)
    }
    self.database = database
  }

  /// Takes the catalogue of record. Throws a `ConfigurationError` where another one was given.
  package mutating func settleCatalogue(reading database: some Queryable) throws {
    catalogue = try CatalogueOfRecord.settled(givenCatalogue, reading: database)
  }

  /// The same whatever was given, for what only tells.
  package mutating func takeCatalogueOfRecord(reading database: some Queryable) throws {
    catalogue = try CatalogueOfRecord.find(reading: database)?.catalogue ?? catalogue
  }

  /// The clock alone, for a command that needs no database.
  package static func clock(_ settings: Settings) throws(ConfigurationError) -> Clock {
    var reader = SettingsReader(settings, for: .command)
    let clock = reader.clock()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return clock
  }

  /// The stores that are not off, for a command that asks them.
  package static func stores(
    _ settings: Settings
  ) throws(ConfigurationError) -> [any StoreConfiguration] {
    var reader = SettingsReader(settings, for: .command)
    let stores = reader.configuredStores()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return stores
  }
}
