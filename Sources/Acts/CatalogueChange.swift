package import Base
import CommandLine
package import Configuration
import JSON
import KnownStores
package import Ledger
import Repair
package import Storage
package import Tiers

/// Another catalogue in place of the one of record.
package struct CatalogueChange: Sendable {
  package let catalogue: Catalogue
  /// The ledgers with the rules that the servers derive by, and with these under the new catalogue.
  package let before: Ledger
  package let ledger: Ledger

  /// What is left to do.
  package enum Rest: Sendable {
    case everything
    /// It is the one of record, but so many subscriptions were not derived again.
    case subscriptions(Int64)
  }

  package init(
    to catalogue: Catalogue, of database: Database, _ configuration: DatabaseConfiguration
  ) throws {
    let rules = try database.read { reader in
      let own = LedgerRules(configuration)
      let inForce = try Ledger(stores: .known, rules: own, for: .command)
        .rulesInForce(reading: reader)
      // The texts for people are not among the rules.
      let record = try CatalogueOfRecord.find(reading: reader)?.catalogue
      return inForce.replacing(record ?? inForce.catalogue)
    }
    self.catalogue = catalogue
    before = Ledger(stores: .known, rules: rules, for: .command)
    ledger = Ledger(stores: .known, rules: rules.replacing(catalogue), for: .command)
  }

  /// Nil if the catalogue is the one of record, and everything is derived under it.
  package func left(reading reader: Reader) throws -> Rest? {
    guard try CatalogueOfRecord.find(reading: reader)?.digest == catalogue.digest else {
      return .everything
    }
    guard try ledger.whyIncomparable(reading: reader) == .unfinished else { return nil }
    return .subscriptions(try ledger.outdatedCount(reading: reader))
  }

  package func effect(
    _ rest: Rest, at now: Instant, in transaction: Transaction
  ) throws -> Act.Effect {
    switch rest {
    case .everything: try put(at: now, in: transaction)
    case .subscriptions(let count): try goOn(left: count, reading: transaction)
    }
  }

  private func put(at now: Instant, in transaction: Transaction) throws -> Act.Effect {
    let record = try CatalogueOfRecord.find(reading: transaction)
    if let record, record.digest == catalogue.digest {
      throw CommandFailure(
        .refused, "\(catalogue.version) is the catalogue of record since \(record.since)")
    }
    if let why = try sharedVersion(reading: transaction) {
      throw CommandFailure(.refused, why)
    }
    try CatalogueOfRecord.put(catalogue, after: record, at: now, in: transaction)
    try ledger.takeForce(at: now, in: transaction)
    return Act.Effect(
      subject: "catalogue \(catalogue.version)",
      before: record.map { Self.state($0.catalogue) } ?? ["catalogue": nil, "digest": nil],
      after: Self.state(catalogue), text: "applied  \(catalogue.digest)\n",
      members: [.init("digest", .string(catalogue.digest))])
  }

  /// Why its version cannot be used: it would mean two catalogues in history, schedules and figures.
  package func sharedVersion(reading database: some Queryable) throws -> String? {
    try CatalogueOfRecord.namesake(of: catalogue, reading: database).map { other in
      "the version \(catalogue.version) is that of catalogue \(other.number), which differs; "
        + "give this one another version"
    }
  }

  /// Derives the rest under the catalogue, if that was interrupted.
  private func goOn(left: Int64, reading transaction: Transaction) throws -> Act.Effect {
    guard try ledger.whyIncomparable(reading: transaction) == .unfinished else {
      throw CommandFailure(.refused, "everything has been derived meanwhile; check again")
    }
    let rest = left == 0 ? "schedules" : counted(left, "subscription")
    return Act.Effect(
      subject: "catalogue \(catalogue.version)", before: ["derived": .string("all but \(rest)")],
      after: ["derived": "all"], members: [.init("digest", .string(catalogue.digest))])
  }

  private static func state(_ catalogue: Catalogue) -> JSONValue {
    let sizes = ([catalogue.free] + catalogue.paid).map { plan in
      JSONValue.Member("plan \(plan.id)", .integer(plan.byteCount))
    }
    return .object(
      [
        .init("catalogue", .string(catalogue.version)), .init("digest", .string(catalogue.digest)),
        .init("fee", .integer(catalogue.metadataFeeByteCount)),
      ] + sizes)
  }
}
