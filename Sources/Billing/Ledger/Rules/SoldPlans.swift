package import Base
import Configuration
import JSON
package import Storage
package import Tiers

/// Everything that this deployment ever sold, as the database keeps it beyond any one catalogue.
package enum SoldPlans {
  /// The plans, each with the products that last meant it, including those that the present catalogue lists.
  package static func all(reading database: some Queryable) throws -> [Plan] {
    let products = try Product.all(reading: database)
    return try database.rows("SELECT plan, bytes, adds FROM billing.sold_plans ORDER BY plan") {
      row in
      let id = try row.text(0)
      return Plan(
        id: id, title: id, byteCount: try row.integer(1), isAddition: try row.integer(2) == 1,
        products: try products.filter { $0.planID == id }.flatMap { product in
          let prices = try product.prices(reading: database)
          return (prices.isEmpty ? [nil] : prices).map {
            Plan.Product(
              provider: product.provider, id: product.id, price: $0, productID: product.soldAs)
          }
        })
    }
  }

  /// Stores what a catalogue sells, unless it was the last to be stored. `previous` is the digest of
  /// the catalogue before, if there was one.
  package static func keep(
    _ catalogue: Catalogue, after previous: String?, at now: Instant, in transaction: Transaction
  ) throws {
    let content = catalogue.content
    let digest = content.digest
    let isNew =
      try transaction.execute(
        """
        INSERT INTO billing.catalogues (digest, version, content, first_used_ms)
        VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO NOTHING
        """, .text(digest), .text(catalogue.version),
        .text(String(decoding: content.encoded(), as: UTF8.self)), .instant(now)) > 0
    guard isNew || previous.map({ $0 != digest }) ?? false else { return }
    let sold = try Product.all(reading: transaction)
    for product in sold where product.isGivenUp(by: catalogue, among: sold, after: previous) {
      try product.forget(in: transaction)
    }
    for plan in [catalogue.free] + catalogue.paid {
      try transaction.execute(
        """
        INSERT INTO billing.sold_plans (plan, bytes, adds, catalogue) VALUES ($1, $2, $3, $4)
        ON CONFLICT (plan) DO UPDATE SET bytes = excluded.bytes, adds = excluded.adds,
          catalogue = excluded.catalogue
        """, .text(plan.id), .integer(plan.byteCount), .integer(plan.isAddition ? 1 : 0),
        .text(digest))
      for product in plan.products {
        try Product(
          provider: product.provider, id: product.id, soldAs: product.productID, planID: plan.id,
          catalogue: digest
        ).write(product.price, in: transaction)
      }
    }
  }

  /// The plan that one id last meant.
  private struct Product {
    let provider: String
    let id: String
    let soldAs: String?
    let planID: String
    let catalogue: String

    static func all(reading database: some Queryable) throws -> [Product] {
      try database.rows(
        """
        SELECT provider, id, sold_as, plan, catalogue FROM billing.sold_products
        ORDER BY provider, id
        """
      ) { row in
        Product(
          provider: try row.text(0), id: try row.text(1), soldAs: try row.optionalText(2),
          planID: try row.text(3), catalogue: try row.text(4))
      }
    }

    /// Whether the operator decided that it means nothing by itself any more.
    ///
    /// It is ignored, or it is a price whose product is ignored. Or it is a price whose product was
    /// listed before and still is, so that the product decides for the price. A product that is
    /// listed only now does not, because it may have been ambiguous before.
    func isGivenUp(
      by catalogue: Catalogue, among sold: [Product], after previous: String?
    ) -> Bool {
      func isIgnored(_ id: String) -> Bool {
        catalogue.mapping(provider: provider, price: id, product: nil) == .ignored
      }
      if isIgnored(id) { return true }
      guard let soldAs, !catalogue.lists(provider: provider, id: id) else { return false }
      return isIgnored(soldAs)
        || catalogue.lists(provider: provider, id: soldAs)
          && sold.contains {
            $0.provider == provider && $0.id == soldAs && $0.catalogue == previous
          }
    }

    /// The prices that it ever had.
    func prices(reading database: some Queryable) throws -> [Plan.Price?] {
      try database.rows(
        """
        SELECT amount, currency, per FROM billing.sold_prices WHERE provider = $1 AND id = $2
        ORDER BY amount, currency, per
        """, .text(provider), .text(id)
      ) { row in
        let interval = Plan.Interval(rawValue: try row.text(2))
        return Plan.Price(
          amountMinorUnits: try row.integer(0), currency: try row.text(1),
          interval: interval ?? .month)
      }
    }

    func write(_ price: Plan.Price?, in transaction: Transaction) throws {
      try transaction.execute(
        """
        INSERT INTO billing.sold_products (provider, id, sold_as, plan, catalogue)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (provider, id) DO UPDATE SET sold_as = excluded.sold_as,
          plan = excluded.plan, catalogue = excluded.catalogue
        """, .text(provider), .text(id), .text(soldAs), .text(planID), .text(catalogue))
      guard let price else { return }
      try transaction.execute(
        """
        INSERT INTO billing.sold_prices (provider, id, amount, currency, per)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (provider, id, amount, currency, per) DO NOTHING
        """, .text(provider), .text(id), .integer(price.amountMinorUnits), .text(price.currency),
        .text(price.interval.rawValue))
    }

    func forget(in transaction: Transaction) throws {
      for table in ["sold_products", "sold_prices"] {
        try transaction.execute(
          "DELETE FROM billing.\(table) WHERE provider = $1 AND id = $2", .text(provider),
          .text(id))
      }
    }
  }
}
