import Base
import Crypto
package import JSON
package import Tiers

extension JSONValue {
  /// SHA-256 of the text, in hexadecimal.
  package var digest: String { Hex.encode(SHA256.hash(encoded())) }
}

extension Catalogue {
  /// The parts that derivations read: sizes, ids and prices, not the texts for people.
  package var content: JSONValue {
    [
      "version": .string(version), "free": free.content,
      "paid": .array(paid.sorted { $0.id < $1.id }.map { $0.content }),
      "ignored": .array(ignored.sortedByID.map { .array([.string($0.provider), .string($0.id)]) }),
      "fallback": fallbackPlanID.map { .string($0) } ?? .null,
    ]
  }

  /// Reads the output of `content`; `shown` is the output of `shown`, or missing.
  package init(content: JSON, shown: JSON) throws {
    let plans = shown["plans"].array ?? []
    func plan(_ content: JSON) throws -> Plan {
      let id = try content["id"].requireString()
      return try Plan(content: content, shown: plans.first { $0["id"].string == id })
    }
    try self.init(
      version: content["version"].requireString(), free: plan(content["free"]),
      paid: content["paid"].requireArray().map { try plan($0) },
      ignored: content["ignored"].requireArray().map {
        Plan.Product(provider: try $0[0].requireString(), id: try $0[1].requireString())
      },
      fallbackPlanID: content["fallback"].string,
      metadataFeeByteCount: shown["metadata_fee_bytes"].integer ?? 1000,
      formerPlanDays: shown["former_plan_days"].integer ?? Catalogue.formerPlanDaysUsual)
  }

  /// The parts that people read and that sync charges by.
  package var shown: JSONValue {
    let days: [JSONValue.Member] =
      formerPlanDays == Self.formerPlanDaysUsual
      ? [] : [.init("former_plan_days", .integer(formerPlanDays))]
    let plans = ([free] + paid.sorted { $0.id < $1.id }).map { plan in
      JSONValue.object(
        [
          .init("id", .string(plan.id)), .init("title", .string(plan.title)),
          .init("prices", .array(plan.prices.map(\.content))),
        ] + plan.limits.content + plan.trials)
    }
    return .object(
      [.init("metadata_fee_bytes", .integer(metadataFeeByteCount)), .init("plans", .array(plans))]
        + days)
  }
}

extension Plan {
  /// Empty if there are none, so that a catalogue without any has the digest it always had.
  fileprivate var trials: [JSONValue.Member] {
    let trials = products.sortedByID.compactMap { product in
      product.trialDays.map { days -> JSONValue in
        [.string(product.provider), .string(product.id), .integer(days)]
      }
    }
    return trials.isEmpty ? [] : [.init("trials", .array(trials))]
  }

  fileprivate var content: JSONValue {
    [
      "id": .string(id), "bytes": .integer(byteCount), "adds": .bool(isAddition),
      "products": .array(
        products.sortedByID.map { product in
          .array(
            [
              .string(product.provider), .string(product.id),
              product.productID.map { .string($0) } ?? .null,
            ] + (product.price.map { [$0.content] } ?? []))
        }),
    ]
  }

  fileprivate convenience init(content: JSON, shown: JSON?) throws {
    let id = try content["id"].requireString()
    let trials = shown?["trials"].array ?? []
    self.init(
      id: id, title: shown?["title"].string ?? id, byteCount: try content["bytes"].requireInteger(),
      isAddition: try content["adds"].requireBool(), limits: Plan.Limits(content: shown),
      prices: try (shown?["prices"].array ?? []).map { try Plan.Price(content: $0) },
      products: try content["products"].requireArray().map { row in
        let (provider, id) = (try row[0].requireString(), try row[1].requireString())
        return Plan.Product(
          provider: provider, id: id,
          price: row[3].exists ? try Plan.Price(content: row[3]) : nil, productID: row[2].string,
          trialDays: trials.first { $0[0].string == provider && $0[1].string == id }?[2].integer)
      })
  }
}

extension Plan.Limits {
  /// Empty if there are none, so that a catalogue without any has the digest it always had.
  fileprivate var content: [JSONValue.Member] {
    guard !isEmpty else { return [] }
    var counts = [recordCount, shareCount, fileByteCount]
    // Catalogues that keep no versions and no trash have the digest that they always had.
    let history = [historyDays, historyVersionCount, trashDays]
    if history.contains(where: { $0 != nil }) { counts += history }
    return [.init("limits", .array(counts.map { $0.map { .integer($0) } ?? .null }))]
  }

  fileprivate init(content: JSON?) {
    let counts = content?["limits"]
    self.init(
      recordCount: counts?[0].integer, shareCount: counts?[1].integer,
      fileByteCount: counts?[2].integer, historyDays: counts?[3].integer,
      historyVersionCount: counts?[4].integer, trashDays: counts?[5].integer)
  }
}

extension Plan.Price {
  fileprivate var content: JSONValue {
    [.integer(amountMinorUnits), .string(currency), .string(interval.rawValue)]
  }

  fileprivate init(content: JSON) throws {
    guard let interval = Plan.Interval(rawValue: try content[2].requireString()) else {
      throw JSONError(code: .wrongType, path: content[2].path, message: "must be month or year")
    }
    self.init(
      amountMinorUnits: try content[0].requireInteger(), currency: try content[1].requireString(),
      interval: interval)
  }
}

extension [Plan.Product] {
  fileprivate var sortedByID: Self { sorted { ($0.provider, $0.id) < ($1.provider, $1.id) } }
}
