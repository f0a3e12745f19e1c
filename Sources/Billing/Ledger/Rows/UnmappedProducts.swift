package import Base
package import Storage
package import Subscriptions

/// Products that no catalogue lists any more and on which accounts still depend.
package struct UnmappedProducts {
  package let provider: String
  package let product: String
  package let subscriptionCount: Int64
  /// The accounts that own those subscriptions.
  package let accountCount: Int64
  /// Some of the subscriptions.
  package let some: [String]

  private static let someCountMax: Int64 = 5
  /// The most products that are listed one by one.
  private static let productCountMax: Int64 = 100

  /// The products whose subscriptions are owed something at `now` or later.
  package static func owed(at now: Instant, reading database: some Queryable) throws
    -> [UnmappedProducts]
  {
    let rows = try database.rows(
      """
      SELECT u.provider, u.product, count(*), count(DISTINCT s.owner)
      FROM billing.unmapped_products u JOIN billing.subscriptions s ON s.object = u.object
      WHERE u.owed_until_ms > $1 GROUP BY u.provider, u.product
      ORDER BY u.provider, u.product LIMIT $2
      """, .instant(now), .integer(productCountMax)
    ) { row in (try row.text(0), try row.text(1), try row.integer(2), try row.integer(3)) }
    return try rows.map { provider, product, subscriptionCount, accountCount in
      let some = try database.rows(
        """
        SELECT object FROM billing.unmapped_products
        WHERE provider = $1 AND product = $2 AND owed_until_ms > $3 ORDER BY object LIMIT $4
        """, .text(provider), .text(product), .instant(now), .integer(someCountMax)
      ) { row in try row.text(0) }
      return UnmappedProducts(
        provider: provider, product: product, subscriptionCount: subscriptionCount,
        accountCount: accountCount, some: some)
    }
  }

  package static func write(
    _ coverage: Coverage, of key: ObjectKey, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM billing.unmapped_products WHERE object = $1", .text(key.description))
    let until = coverage.intervals.map { $0.to }.max() ?? .distantPast
    for product in coverage.unmappedProducts {
      try transaction.execute(
        """
        INSERT INTO billing.unmapped_products (object, provider, product, owed_until_ms)
        VALUES ($1, $2, $3, $4)
        """, .text(key.description), .text(key.provider.rawValue), .text(product),
        .instant(until))
    }
  }
}

extension Coverage {
  /// The products that it depends on and no catalogue lists any more, sorted.
  package var unmappedProducts: [String] {
    alarms.compactMap { alarm in
      if case .unmappedProduct(let id) = alarm { id } else { nil }
    }.sorted()
  }

  /// The products that no catalogue ever listed, sorted.
  package var unknownProducts: [String] {
    alarms.compactMap { alarm in
      if case .unknownProduct(let price, let product) = alarm { price ?? product } else { nil }
    }.sorted()
  }
}
