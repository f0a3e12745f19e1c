extension Catalogue {
  /// A store's id that has another meaning in another catalogue.
  package struct ProductChange: Hashable, Sendable {
    package let provider: String
    package let id: String
    /// The plan that the id stood for, or `ignored`; nil if it was not listed.
    package let before: String?
    package let after: String?
  }

  /// The ids that have another meaning in another catalogue, in the order of their stores and ids.
  package func productChanges(to other: Catalogue) -> [ProductChange] {
    let (before, after) = (meanings, other.meanings)
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
      .sorted { ($0.provider, $0.id) < ($1.provider, $1.id) }
      .map { key in
        ProductChange(provider: key.provider, id: key.id, before: before[key], after: after[key])
      }
  }

  private var meanings: [Key: String] {
    mappings.mapValues { mapping in
      switch mapping {
      case .plan(let plan), .kept(let plan, _): plan.id
      case .ignored, .unknown: "ignored"
      }
    }
  }
}
