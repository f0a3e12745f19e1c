internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Storage
internal import Tiers

extension Command {
  static let planList = Command(
    words: ["plan", "list"],
    abstract: "List the plans and the store products that sell them",
    examples: ["coffer plan list"],
    answers: [
      "version": .text, "metadata_fee_bytes": .integer, "fallback": .orNull(.text),
      "plans": .list([
        "id": .text, "title": .text, "bytes": .integer,
        "prices": .list(Plan.Price.shape),
        "products": .list(["provider": .text, "id": .text]),
      ]),
    ],
    run: { invocation in
      let (catalogue, notice) = try catalogue(invocation)
      var table = Table(
        ("PLAN", .left), ("TITLE", .left), ("SIZE", .right), ("PRICES", .left),
        ("PRODUCTS", .left))
      let plans = [catalogue.free] + catalogue.paid
      for plan in plans {
        let prices = plan.prices.map(\.text).joined(separator: ", ")
        let products = plan.products.map { "\($0.provider):\($0.id)" }.joined(separator: ", ")
        table.add(
          plan.id, plan.title, ByteCount.text(plan.byteCount), prices.isEmpty ? "-" : prices,
          products.isEmpty ? "-" : products)
      }
      let rules =
        "catalogue \(catalogue.version); "
        + "\(catalogue.metadataFeeByteCount) bytes for each live record; unknown products "
        + (catalogue.fallbackPlanID.map { "count as \($0)" } ?? "grant nothing")
      return Answer(
        text: table.text + "\n" + Prose.text(rules, width: Terminal.width),
        json: [
          "version": .string(catalogue.version),
          "metadata_fee_bytes": .integer(catalogue.metadataFeeByteCount),
          "fallback": catalogue.fallbackPlanID.map { .string($0) } ?? .null,
          "plans": .array(plans.map(json)),
        ], notice: notice)
    })

  /// The catalogue of record if a database is named, otherwise the configured one.
  private static func catalogue(_ invocation: Invocation) throws -> (Catalogue, String?) {
    var reader = SettingsReader(invocation.settings, for: .command)
    let given = reader.catalogue()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    guard reader.has(SharedSettings.database) else { return (given ?? .standard, nil) }
    return try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
      let record = try database.read { try CatalogueOfRecord.find(reading: $0)?.catalogue }
      let catalogue = record ?? configuration.catalogue
      return (catalogue, notice(given, beside: catalogue, invocation.settings))
    }
  }

  private static func json(_ plan: Plan) -> JSONValue {
    [
      "id": .string(plan.id), "title": .string(plan.title), "bytes": .integer(plan.byteCount),
      "prices": .array(plan.prices.map(\.json)),
      "products": .array(
        plan.products.map { product in
          ["provider": .string(product.provider), "id": .string(product.id)]
        }),
    ]
  }
}

extension Plan.Price {
  static let shape: JSONShape = ["amount": .integer, "currency": .text, "interval": .text]

  var json: JSONValue {
    [
      "amount": .integer(amountMinorUnits), "currency": .string(currency),
      "interval": .string(interval.rawValue),
    ]
  }

  var text: String {
    "\(Money(minorUnits: amountMinorUnits, currency: currency))/\(interval.rawValue)"
  }
}
