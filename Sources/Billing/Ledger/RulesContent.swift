internal import Base
internal import Crypto
internal import JSON
internal import Subscriptions
internal import Tiers

extension LedgerRules {
  /// Everything that a derived row depends on, in one text: equal rules give equal texts.
  var content: JSONValue {
    [
      "policy": .string(policy.version), "environment": .string(grantingEnvironment.rawValue),
      "sandbox_accounts": .array(sandboxAccounts.sorted().map { .string($0.description) }),
      "catalogue": catalogue.content,
    ]
  }

  /// The same policy with the rest as `content` says; nil where that names another policy, which is
  /// code of another version of this program.
  func with(content: JSON) throws -> LedgerRules? {
    guard try content["policy"].requireString() == policy.version else { return nil }
    guard
      let environment = StoreEnvironment(rawValue: try content["environment"].requireString())
    else {
      throw JSONError(code: .wrongType, path: "$.environment", message: "must be live or sandbox")
    }
    return LedgerRules(
      policy: policy, catalogue: try Catalogue(content: content["catalogue"]),
      grantingEnvironment: environment,
      sandboxAccounts: Set(
        try content["sandbox_accounts"].requireArray().compactMap {
          Identifier(try $0.requireString())
        }))
  }
}

extension JSONValue {
  /// SHA-256 of the text, in hexadecimal.
  var digest: String { Hex.encode(SHA256.hash(encoded())) }
}

extension Catalogue {
  /// What a derivation reads of it: sizes, ids and prices, not what people read.
  var content: JSONValue {
    [
      "version": .string(version), "free": free.content,
      "paid": .array(paid.sorted { $0.id < $1.id }.map { $0.content }),
      "ignored": .array(ignored.sortedByID.map { .array([.string($0.provider), .string($0.id)]) }),
      "fallback": fallbackPlanID.map { .string($0) } ?? .null,
    ]
  }

  fileprivate init(content: JSON) throws {
    try self.init(
      version: content["version"].requireString(), free: Plan(content: content["free"]),
      paid: content["paid"].requireArray().map { try Plan(content: $0) },
      ignored: content["ignored"].requireArray().map {
        Plan.Product(provider: try $0[0].requireString(), id: try $0[1].requireString())
      },
      fallbackPlanID: content["fallback"].string)
  }
}

extension Plan {
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

  fileprivate init(content: JSON) throws {
    let id = try content["id"].requireString()
    self.init(
      id: id, title: id, byteCount: try content["bytes"].requireInteger(),
      isAddition: try content["adds"].requireBool(),
      products: try content["products"].requireArray().map {
        Plan.Product(
          provider: try $0[0].requireString(), id: try $0[1].requireString(),
          price: $0[3].exists ? try Plan.Price(content: $0[3]) : nil, productID: $0[2].string)
      })
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
