import JSON
package import Tiers

/// Reads the catalogue of plans, which an operator wrote as JSON.
///
/// Unknown members are refused: a misspelt one would silently change what is sold.
package enum CatalogueFile {
  /// The reason why a catalogue is refused, and the place in it.
  package struct Failure: Error, Equatable {
    package let text: String
  }

  package static func catalogue(of bytes: [UInt8]) throws(Failure) -> Catalogue {
    do {
      return try catalogue(JSON.parse(bytes)).written(as: String(decoding: bytes, as: UTF8.self))
    } catch let error as JSONError {
      throw Failure(text: "\(error.path): \(error.message)")
    } catch let error as CatalogueError {
      throw Failure(text: sentence(error))
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(text: "cannot be read")
    }
  }

  private static func catalogue(_ root: JSON) throws -> Catalogue {
    try check(
      root,
      [
        "version", "metadata_fee_bytes", "former_plan_days", "free", "plans", "ignored", "fallback",
      ])
    let catalogue = try Catalogue(
      version: root["version"].requireString(), free: plan(root["free"], sold: false),
      paid: paid(root["plans"]), ignored: ignored(root["ignored"]),
      fallbackPlanID: optionalString(root["fallback"]),
      metadataFeeByteCount: root["metadata_fee_bytes"].exists
        ? root["metadata_fee_bytes"].requireInteger() : 1000,
      formerPlanDays: root["former_plan_days"].exists
        ? root["former_plan_days"].requireInteger() : Catalogue.formerPlanDaysUsual)
    for plan in catalogue.paid where plan.isLess(than: catalogue.free) {
      throw Failure(
        text:
          "plan \(plan.id): \(plan.byteCount) bytes are fewer than the \(catalogue.free.byteCount) "
          + "of the free plan: who pays would have less than who does not")
    }
    return catalogue
  }

  /// The paid plans, each with the products that stand for it alone.
  ///
  /// A product whose prices belong to several plans stands for none by itself: its prices decide.
  private static func paid(_ list: JSON) throws -> [Plan] {
    let plans = try list.requireArray().map { try plan($0, sold: true) }
    return plans.enumerated().map { index, plan in
      let elsewhere = Set(
        plans.enumerated().filter { $0.offset != index }
          .flatMap { $0.element.products.map { [$0.provider, $0.id] } })
      let sellsByPrice = plan.products.contains { $0.price != nil }
      let products = plan.products.filter { product in
        product.price != nil || !sellsByPrice
          || !elsewhere.contains([product.provider, product.id])
      }
      return Plan(
        id: plan.id, title: plan.title, byteCount: plan.byteCount, isAddition: plan.isAddition,
        limits: plan.limits, prices: plan.prices, products: products)
    }
  }

  private static func plan(_ item: JSON, sold: Bool) throws -> Plan {
    try check(item, ["id", "title", "bytes", "limits"] + (sold ? ["adds", "products"] : []))
    var prices: [Plan.Price] = []
    var products: [Plan.Product] = []
    let rows = sold ? try item["products"].requireArray() : []
    for row in rows {
      try check(
        row, ["provider", "product", "price", "amount", "currency", "interval", "trial_days"])
      let price = try price(row)
      if let price, !prices.contains(price) { prices.append(price) }
      let provider = try row["provider"].requireString()
      let priceID = try optionalString(row["price"])
      let productID = try row["product"].requireString()
      if let priceID {
        products.append(
          Plan.Product(
            provider: provider, id: priceID, price: price, productID: productID,
            trialDays: try trialDays(row)))
      } else if row["trial_days"].exists {
        throw Failure(text: "\(row["trial_days"].path): is of a price, and none is named")
      }
      let product = Plan.Product(provider: provider, id: productID)
      if !products.contains(product) { products.append(product) }
    }
    return Plan(
      id: try item["id"].requireString(), title: try item["title"].requireString(),
      byteCount: try item["bytes"].requireInteger(),
      isAddition: item["adds"].exists ? try item["adds"].requireBool() : false,
      limits: try limits(item["limits"]), prices: prices, products: products)
  }

  private static func limits(_ item: JSON) throws -> Plan.Limits {
    guard item.exists else { return Plan.Limits() }
    try check(
      item, ["records", "shares", "file_bytes", "history_days", "history_versions", "trash_days"])
    func count(_ name: String) throws -> Int64? {
      item[name].exists && !item[name].isNull ? try item[name].requireInteger() : nil
    }
    return Plan.Limits(
      recordCount: try count("records"), shareCount: try count("shares"),
      fileByteCount: try count("file_bytes"), historyDays: try count("history_days"),
      historyVersionCount: try count("history_versions"), trashDays: try count("trash_days"))
  }

  private static func price(_ row: JSON) throws -> Plan.Price? {
    guard row["amount"].exists else { return nil }
    guard let interval = Plan.Interval(rawValue: try row["interval"].requireString()) else {
      throw Failure(text: "\(row["interval"].path): must be month or year")
    }
    let currency = try row["currency"].requireString()
    guard currency.utf8.count == 3, currency.utf8.allSatisfy({ 0x61...0x7A ~= $0 }) else {
      throw Failure(text: "\(row["currency"].path): must be three lower-case letters, e.g. usd")
    }
    return Plan.Price(
      amountMinorUnits: try row["amount"].requireInteger(), currency: currency, interval: interval)
  }

  private static func trialDays(_ row: JSON) throws -> Int64? {
    guard row["trial_days"].exists, !row["trial_days"].isNull else { return nil }
    let days = try row["trial_days"].requireInteger()
    guard 1...730 ~= days else {
      throw Failure(text: "\(row["trial_days"].path): must be from 1 to 730")
    }
    return days
  }

  private static func ignored(_ list: JSON) throws -> [Plan.Product] {
    guard list.exists else { return [] }
    return try list.requireArray().map { row in
      try check(row, ["provider", "product"])
      return Plan.Product(
        provider: try row["provider"].requireString(), id: try row["product"].requireString())
    }
  }

  private static func optionalString(_ value: JSON) throws -> String? {
    value.exists && !value.isNull ? try value.requireString() : nil
  }

  private static func check(_ object: JSON, _ names: [String]) throws {
    try object.requireObject()
    for (name, _) in object.members ?? [] where !names.contains(name) {
      throw Failure(text: "\(object.path).\(name): there is no such member")
    }
  }

  private static func sentence(_ error: CatalogueError) -> String {
    switch error {
    case .emptyVersion: "$.version: must not be empty"
    case .emptyPlanID: "a plan's id is empty"
    case .duplicatePlan(let id): "two plans have the id \(id)"
    case .negativeSize(let plan): "plan \(plan): bytes must not be negative"
    case .negativeLimit(let plan): "plan \(plan): a limit must not be negative"
    case .negativePrice(let plan): "plan \(plan): an amount must not be negative"
    case .negativeMetadataFee: "$.metadata_fee_bytes: must not be negative"
    case .largeMetadataFee: "$.metadata_fee_bytes: must not exceed \(Catalogue.metadataFeeMax)"
    case .negativeFormerPlanDays: "$.former_plan_days: must not be negative"
    case .emptyProduct: "a product has an empty provider or id"
    case .duplicateProduct(let id):
      "the product or price \(id) is listed twice with different meanings"
    case .unknownFallback(let id): "$.fallback: there is no plan \(id)"
    }
  }
}
