extension Catalogue {
  /// A plan whose prices differ in another catalogue.
  package struct PriceChange: Hashable, Sendable {
    package let planID: String
    /// The earlier prices; empty if no amount was named.
    package let before: [Plan.Price]
    package let after: [Plan.Price]
  }

  /// The plans in both catalogues of which a price that the catalogue names differs, in the order of their ids.
  package func priceChanges(to other: Catalogue) -> [PriceChange] {
    paid.compactMap { plan in
      guard let after = other.paid.first(where: { $0.id == plan.id }),
        Set(plan.prices) != Set(after.prices)
      else { return nil }
      return PriceChange(planID: plan.id, before: plan.prices, after: after.prices)
    }.sorted { $0.planID < $1.planID }
  }
}
