internal import Base
internal import Configuration
package import Storage
package import Tiers

/// The catalogue of record with what earlier ones sold, found with each question and remembered while it
/// stays: an operator changes it beside running servers.
final class CurrentCatalogue: Sendable {
  private let remembered = Locked<(number: Int64, catalogue: Catalogue)?>(nil)

  /// Nil before there is one of record.
  func find(reading database: some Queryable) throws -> Catalogue? {
    guard let number = try CatalogueOfRecord.lastNumber(reading: database) else { return nil }
    if let known = remembered.withLock({ $0 }), known.number == number { return known.catalogue }
    guard let record = try CatalogueOfRecord.find(number, reading: database) else { return nil }
    let catalogue = record.catalogue.keeping(try SoldPlans.all(reading: database))
    remembered.withLock { $0 = (number, catalogue) }
    return catalogue
  }
}

extension Ledger {
  /// What is sold and what everybody has for nothing, by the catalogue of record; before there is one, by
  /// this program's own.
  package func catalogue(reading database: some Queryable) throws -> Catalogue {
    try currentCatalogue.find(reading: database) ?? rules.catalogue
  }
}
