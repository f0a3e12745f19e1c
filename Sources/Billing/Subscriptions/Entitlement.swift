package import Tiers

extension Schedule {
  /// An account's schedule from all of its subscriptions and grants: the best plan at every moment,
  /// and a sum only if a plan is an addition.
  ///
  /// Coverages name plans of the catalogue under which they were derived, which must be this one.
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
  /// The plan of a mapping. An unknown product has the fallback plan, if there is one.
  package func plan(for mapping: Mapping) -> Plan? {
    switch mapping {
    case .plan(let plan), .kept(let plan, _): plan
    case .ignored: nil
    case .unknown: fallbackPlanID.flatMap { plan($0) }
    }
  }
}

extension Catalogue.Mapping {
  /// The alarm to raise for an item with this mapping, if any.
  package func alarm(price: String?, product: String?) -> Coverage.Alarm? {
    switch self {
    case .plan, .ignored: nil
    case .kept(_, let id): .unmappedProduct(id)
    case .unknown: .unknownProduct(price: price, product: product)
    }
  }
}
