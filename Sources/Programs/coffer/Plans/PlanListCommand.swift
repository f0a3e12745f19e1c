import Acts
import Base
import CommandLine
import Configuration
import JSON
import Storage
import Tiers

extension Command {
  static let planList = Command(
    words: ["plan", "list"],
    abstract: "List the plans and the store products that sell them",
    examples: ["coffer plan list"],
    answers: listed.item,
    run: { invocation in
      let (catalogue, notice) = try catalogue(invocation)
      let rules =
        "catalogue \(catalogue.version); "
        + "\(catalogue.metadataFeeByteCount) bytes for each live record; unknown products "
        + (catalogue.fallbackPlanID.map { "count as \($0)" } ?? "grant nothing")
      return Answer(
        text: plans.text([catalogue.free] + catalogue.paid, at: .distantPast) + "\n"
          + Prose.text(rules, width: Terminal.width), json: listed.json(catalogue), notice: notice)
    })

  /// The catalogue of record if a database is named, otherwise the configured one.
  private static func catalogue(_ invocation: Invocation) throws -> (Catalogue, String?) {
    let (given, hasDatabase) = try SettingsReader.read(invocation.settings) {
      ($0.catalogue(), $0.has(SharedSettings.database))
    }
    guard hasDatabase else { return (given ?? .standard, nil) }
    return try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
      let record = try database.read { try CatalogueOfRecord.find(reading: $0)?.catalogue }
      let catalogue = record ?? configuration.catalogue
      return (catalogue, notice(given, beside: catalogue, invocation.settings))
    }
  }

  private static var listed: Listing<Catalogue> {
    Listing([
      .text("version") { $0.version }, .integer("metadata_fee_bytes") { $0.metadataFeeByteCount },
      .optionalText("fallback") { $0.fallbackPlanID },
      .list("plans", plans) { [$0.free] + $0.paid },
    ])
  }

  private static var plans: Listing<Plan> {
    Listing([
      .text("id", "PLAN") { $0.id }, .text("title", "TITLE") { $0.title },
      .bytes("bytes", "SIZE") { $0.byteCount },
      Plan.Price.column("prices", "PRICES") { $0.prices },
      Column(
        "products", .list(["provider": .text, "id": .text]), "PRODUCTS",
        json: { plan in
          .array(plan.products.map { ["provider": .string($0.provider), "id": .string($0.id)] })
        },
        cell: { plan, _ in
          plan.products.isEmpty
            ? "-" : plan.products.map { "\($0.provider):\($0.id)" }.joined(separator: ", ")
        }),
    ])
  }
}

extension Plan.Price {
  static func column<Row>(
    _ name: String, _ title: String, _ prices: @escaping (Row) -> [Plan.Price]
  ) -> Column<Row> {
    Column(
      name, .list(["amount": .integer, "currency": .text, "interval": .text]), title,
      json: { row in
        .array(
          prices(row).map { price in
            [
              "amount": .integer(price.amountMinorUnits), "currency": .string(price.currency),
              "interval": .string(price.interval.rawValue),
            ]
          })
      },
      cell: { row, _ in
        let texts = prices(row).map { price in
          "\(Money(minorUnits: price.amountMinorUnits, currency: price.currency))"
            + "/\(price.interval.rawValue)"
        }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ")
      })
  }
}
