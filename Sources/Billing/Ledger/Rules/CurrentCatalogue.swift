import Base
import Configuration
package import Storage
package import Tiers

/// The catalogue of record with what earlier ones sold. It is looked up with each query and
/// remembered while it stays, because an operator can change it while servers run.
final class CurrentCatalogue: Sendable {
  private let remembered = Locked<(number: Int64, catalogue: Catalogue)?>(nil)

  /// Nil before there is a catalogue of record.
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
  /// The plans that are sold, and the one that every account has for free, by the catalogue of
  /// record. Before there is one, by this program's own.
  package func catalogue(reading database: some Queryable) throws -> Catalogue {
    try currentCatalogue.find(reading: database) ?? rules.catalogue
  }
}
