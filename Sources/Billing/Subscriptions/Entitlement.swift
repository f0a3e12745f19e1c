package import Tiers

extension Schedule {
  /// What an account is owed by all of its subscriptions and grants: the best at every moment, and
  /// a sum only where a plan is an addition.
  ///
  /// Coverage names plans of the catalogue it was derived under, which must be this one.
  package init(_ coverages: [Coverage], catalogue: Catalogue) {
    self.init(
      owed: coverages.enumerated().flatMap { giver, coverage in
        coverage.intervals.compactMap { interval in
          catalogue.plan(interval.planID).map {
            Owed(
              giver: giver, plan: $0, from: interval.from, to: interval.to, reason: interval.why)
          }
        }
      },
      endings: coverages.flatMap { $0.endings }, catalogue: catalogue)
  }
}

extension Catalogue {
  /// The plan that a mapping means; an unknown product means the fallback, if there is one.
  package func plan(for mapping: Mapping) -> Plan? {
    switch mapping {
    case .plan(let plan), .kept(let plan, _): plan
    case .ignored: nil
    case .unknown: fallbackPlanID.flatMap { plan($0) }
    }
  }
}

extension Catalogue.Mapping {
  /// What an operator must hear of an item that means this.
  package func alarm(price: String?, product: String?) -> Coverage.Alarm? {
    switch self {
    case .plan, .ignored: nil
    case .kept(_, let id): .unmappedProduct(id)
    case .unknown: .unknownProduct(price: price, product: product)
    }
  }
}
