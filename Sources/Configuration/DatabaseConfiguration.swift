package import Base
package import Crypto
package import S3
package import Storage
package import Tiers

/// The checked configuration of the commands of `coffer` that read or write rows.
package struct DatabaseConfiguration: Sendable {
  package let database: DatabaseLocation
  /// The configured catalogue; `CatalogueOfRecord` decides which one applies.
  package let givenCatalogue: Catalogue?
  /// The catalogue that applies, once the database was asked.
  package private(set) var catalogue: Catalogue
  /// The same as in `coffer-billing`, so that both derive the same.
  package let grantingEnvironment: StoreEnvironment
  package let sandboxAccounts: Set<Identifier>
  /// The stores that `coffer-billing` has a key to ask.
  package let askedStores: [String]
  /// The keys that open stored deliveries; nil if the command was given none.
  package let sealingKeys: SealingKeys?
  /// Where objects are; nil if the command was given nothing.
  package let objects: ObjectsPlace?
  /// The key that finds personal data; nil if nothing can be found by it.
  package let searchKey: SearchKey?
  package let clock: Clock

  /// The configuration of another database than the settings', if one is given.
  package init(_ settings: Settings, of other: DatabaseLocation? = nil) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .command)
    askedStores = reader.stores.filter { $0.isAsked(reader) }.map { $0.store }
    let database = other ?? reader.value(SharedSettings.database)
    grantingEnvironment = reader.grantingEnvironment()
    sandboxAccounts = Set(reader.value(BillingSettings.sandboxAccounts) ?? [])
    sealingKeys = reader.value(BillingSettings.sealingKeys)
    searchKey = reader.value(BillingSettings.searchKey)
    objects = reader.objects()
    let given = reader.catalogue()
    // Another database has its own catalogue of record, or none yet if no coffer-billing ran on it.
    givenCatalogue = other == nil ? given : nil
    catalogue = given ?? .standard
    clock = reader.clock()
    guard let database, reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    self.database = database
  }

  /// Adopts the catalogue of record.
  ///
  /// - Throws: A `ConfigurationError` if another one was given.
  package mutating func settleCatalogue(reading database: some Queryable) throws {
    catalogue = try CatalogueOfRecord.settled(givenCatalogue, else: catalogue, reading: database)
  }

  /// Adopts the catalogue of record, whatever was given, for commands that only report.
  package mutating func takeCatalogueOfRecord(reading database: some Queryable) throws {
    catalogue = try CatalogueOfRecord.remembering(
      CatalogueOfRecord.find(reading: database)?.catalogue ?? catalogue, reading: database)
  }

  /// The clock alone, for a command that needs no database.
  package static func clock(_ settings: Settings) throws(ConfigurationError) -> Clock {
    try SettingsReader.read(settings) { $0.clock() }
  }

  /// A store with the settings' keys, for a command that names another one.
  package static func objects(
    _ location: ObjectsLocation, _ settings: Settings
  ) throws(ConfigurationError) -> ObjectsPlace.Part {
    ObjectsPlace.Part(location, try SettingsReader.read(settings) { $0.bucketKeys() })
  }

  /// The stores that are not off, for a command that asks them.
  package static func stores(
    _ settings: Settings
  ) throws(ConfigurationError) -> [any StoreConfiguration] {
    try SettingsReader.read(settings) { $0.configuredStores() }
  }
}
