import Base
import Configuration
import KnownStores
import Storage
import TestEngines
import Testing
import Tiers

struct CatalogueOfRecordTests {
  private static let now = Instant(seconds: 1_800_000_000)

  private static func catalogue(_ version: String, title: String = "Large") throws -> Catalogue {
    let price = Plan.Price(amountMinorUnits: 299, currency: "usd", interval: .month)
    return try Catalogue(
      version: version, free: Plan(id: "free", title: "Free", byteCount: 1000),
      paid: [
        Plan(
          id: "large", title: title, byteCount: 9000, prices: [price],
          products: [
            Plan.Product(provider: "stripe", id: "price_1", price: price, productID: "prod_1"),
            Plan.Product(provider: "stripe", id: "prod_1"),
          ])
      ],
      ignored: [Plan.Product(provider: "stripe", id: "mug")], fallbackPlanID: "large",
      metadataFeeByteCount: 7)
  }

  @Test(arguments: TestEngine.available)
  func `the first start makes its catalogue the one of record, whole`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let first = try Self.catalogue("1")
    #expect(try database.read { try CatalogueOfRecord.settled(first, reading: $0) } == first)
    for _ in 0..<2 {
      let settled = try database.write(for: nil) {
        try CatalogueOfRecord.establish(first, at: Self.now, in: $0)
      }
      #expect(settled == first)
    }
    #expect(try database.read { try CatalogueOfRecord.settled(nil, reading: $0) } == first)
    #expect(try database.read { try CatalogueOfRecord.all(limit: 9, reading: $0) }.count == 1)
  }

  /// A restored backup of an installation without billing is such a database.
  @Test(arguments: TestEngine.available)
  func `another database obeys the configured one until it has one of record`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let plans = try ScratchFile(
      #"{"version":"1","free":{"id":"free","title":"Free","bytes":5000},"plans":[]}"#)
    let settings = Settings(
      .coffer,
      environment: ["COFFER_DATABASE": "sqlite:///nowhere/db", "COFFER_PLANS": plans.path])
    var configuration = try DatabaseConfiguration(settings, of: scratch.location)
    try database.read { try configuration.settleCatalogue(reading: $0) }
    #expect(configuration.catalogue.free.byteCount == 5000)
    let record = try Self.catalogue("2")
    _ = try database.write(for: nil) {
      try CatalogueOfRecord.establish(record, at: Self.now, in: $0)
    }
    try database.read { try configuration.settleCatalogue(reading: $0) }
    #expect(configuration.catalogue == record)
  }

  @Test(arguments: TestEngine.available)
  func `another one is refused until it is put, and the one before is kept`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let (first, second) = (try Self.catalogue("1"), try Self.catalogue("1", title: "Larger"))
    _ = try database.write(for: nil) {
      try CatalogueOfRecord.establish(first, at: Self.now, in: $0)
    }
    let error = #expect(throws: ConfigurationError.self) {
      try database.write(for: nil) {
        try CatalogueOfRecord.establish(second, at: Self.now, in: $0)
      }
    }
    #expect(error?.lines.first?.hasSuffix("digest \(second.digest)") == true)
    try database.write(for: nil) { transaction in
      let record = try CatalogueOfRecord.find(reading: transaction)
      try CatalogueOfRecord.put(second, after: record, at: Self.now, in: transaction)
    }
    #expect(try database.read { try CatalogueOfRecord.settled(second, reading: $0) } == second)
    let all = try database.read { try CatalogueOfRecord.all(limit: 9, reading: $0) }
    #expect(all.map(\.catalogue) == [second, first])
  }

  @Test(arguments: TestEngine.available)
  func `the file of a catalogue is kept, of an earlier record once a server starts with it`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let catalogue = try Self.catalogue("1")
    let (other, written) = (try Self.catalogue("2"), catalogue.written(as: "{ }\n"))
    func file(_ given: Catalogue?) throws -> String? {
      try database.write(for: nil) { transaction in
        _ = try CatalogueOfRecord.establish(given, at: Self.now, in: transaction)
        return try CatalogueOfRecord.find(1, reading: transaction)?.catalogue.file
      }
    }
    #expect(try file(catalogue) == nil)
    #expect(throws: ConfigurationError.self) { try file(other.written(as: "{}")) }
    #expect(try file(written) == "{ }\n")
    #expect(try file(nil) == "{ }\n")
    #expect(try file(catalogue.written(as: "{}")) == "{ }\n")
    #expect(try database.read { try CatalogueOfRecord.find(2, reading: $0) == nil })
    #expect(
      try database.read { try CatalogueOfRecord.find(1, reading: $0) }?.digest == catalogue.digest)
  }
}
