import JSON
import Tiers

extension Catalogue {
  /// The answer of `GET /v1/plans`: what is sold, for clients that show it or buy it.
  var plansDocument: JSONValue {
    [
      "version": .string(version), "free": free.document,
      "plans": .array(paid.map(\.document)),
      "record_fee_bytes": .integer(metadataFeeByteCount),
    ]
  }
}

extension JSONValue {
  fileprivate static func optional(_ count: Int64?) -> JSONValue {
    count.map { .integer($0) } ?? .null
  }
}

extension Plan {
  fileprivate var document: JSONValue {
    [
      "id": .string(id), "title": .string(title), "adds": .bool(isAddition),
      "limits": [
        "bytes": .integer(byteCount), "records": .optional(limits.recordCount),
        "shares": .optional(limits.shareCount), "file_bytes": .optional(limits.fileByteCount),
        "history_days": .optional(limits.historyDays),
        "history_versions": .optional(limits.historyVersionCount),
        "trash_days": .optional(limits.trashDays),
      ], "prices": .array(prices.map(\.document)),
      "products": .array(
        products.map { product in
          [
            "store": .string(product.provider),
            "product": .string(product.productID ?? product.id),
            "price": product.price == nil ? .null : .string(product.id),
            "costs": product.price?.document ?? .null,
            "trial_days": .optional(product.trialDays),
          ]
        }),
    ]
  }
}

extension Plan.Price {
  fileprivate var document: JSONValue {
    [
      "amount": .string(Money(minorUnits: amountMinorUnits, currency: currency).amount),
      "currency": .string(currency.uppercased()), "interval": .string(interval.rawValue),
    ]
  }
}
