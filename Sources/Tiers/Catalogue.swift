package import Base

/// All plans, and the providers' products that stand for them.
///
/// It is data: a change is a new catalogue with a new version. Every schedule of another version is then derived again.
package struct Catalogue: Hashable, Sendable {
  package let version: String
  package let free: Plan
  package let paid: [Plan]
  /// Provider ids of this installation that sell no storage.
  package let ignored: [Plan.Product]
  /// The plan that an unknown product of a storage subscription is taken for; nil grants nothing.
  package let fallbackPlanID: String?
  /// The charge for each live record, in addition to its stored bytes.
  package let metadataFeeByteCount: Int64
  /// For how many days a plan that ended still keeps the versions and the trash that it kept at its end.
  package let formerPlanDays: Int64
  /// The file that an operator wrote; nil if no one wrote one, or if it was not kept.
  package private(set) var file: String?

  let mappings: [Key: Mapping]
  /// Plans that earlier catalogues sold and this one does not, by their ids.
  private var keptPlans: [String: Plan] = [:]
  /// The plan that each product of an earlier catalogue last stood for.
  private var keptProducts: [Key: String] = [:]
  private var keptPrices: [Key: Set<Plan.Price>] = [:]
  /// The catalogues before this one, the latest first. They say what plans kept that ended, or are no longer listed.
  private var former: [Former] = []

  /// Refuses a catalogue that could answer one question in two ways.
  package init(
    version: String, free: Plan, paid: [Plan], ignored: [Plan.Product] = [],
    fallbackPlanID: String? = nil, metadataFeeByteCount: Int64 = 1000,
    formerPlanDays: Int64 = formerPlanDaysUsual
  ) throws(CatalogueError) {
    guard !version.isEmpty else { throw .emptyVersion }
    guard metadataFeeByteCount >= 0 else { throw .negativeMetadataFee }
    guard metadataFeeByteCount <= Self.metadataFeeMax else { throw .largeMetadataFee }
    guard formerPlanDays >= 0 else { throw .negativeFormerPlanDays }
    try Self.check([free] + paid)
    if let fallbackPlanID, !([free] + paid).contains(where: { $0.id == fallbackPlanID }) {
      throw .unknownFallback(fallbackPlanID)
    }
    self.version = version
    self.free = free
    self.paid = paid
    self.ignored = ignored
    self.fallbackPlanID = fallbackPlanID
    self.metadataFeeByteCount = metadataFeeByteCount
    self.formerPlanDays = formerPlanDays
    mappings = try Self.mappings(paid, ignored)
  }

  /// This catalogue with what earlier ones sold: `plans` and their products as they last were.
  ///
  /// This catalogue's own entries take precedence.
  package func keeping(_ plans: [Plan]) -> Catalogue {
    var catalogue = self
    for plan in plans {
      if self.plan(plan.id) == nil { catalogue.keptPlans[plan.id] = plan }
      for product in plan.products {
        let key = Key(provider: product.provider, id: product.id)
        if mappings[key] == nil { catalogue.keptProducts[key] = plan.id }
        if let price = product.price { catalogue.keptPrices[key, default: []].insert(price) }
      }
    }
    return catalogue
  }

  /// The largest fee of a record, in bytes, so that the fees of all of an account's records fit 64 bits.
  package static let metadataFeeMax: Int64 = 1_000_000_000

  package static let formerPlanDaysUsual: Int64 = 30

  /// A catalogue that was in force up to, but not including, a moment.
  package struct Former: Hashable, Sendable {
    let catalogue: Catalogue
    let end: Instant

    package init(_ catalogue: Catalogue, end: Instant) {
      self.catalogue = catalogue
      self.end = end
    }
  }

  /// This catalogue with those before it, the latest first.
  package func following(_ former: [Former]) -> Catalogue {
    var catalogue = self
    catalogue.former = former
    return catalogue
  }

  /// The limits of a plan besides bytes. One that is no longer listed has those that it last had.
  package func limits(of plan: String) -> Plan.Limits {
    let listed = self.plan(plan) ?? former.lazy.compactMap { $0.catalogue.plan(plan) }.first
    return listed?.limits ?? Plan.Limits()
  }

  /// The limits of a plan, or of the free plan, in a span of time, the latest first.
  package func limits(of plan: String?, from: Instant, to: Instant) -> [Retention.Step] {
    var steps: [Retention.Step] = []
    var end = Instant.distantFuture
    for (index, catalogue) in ([self] + former.map(\.catalogue)).enumerated() where end > from {
      // What came before a catalogue says what it no longer lists.
      let limits =
        plan.map { catalogue.following(Array(former.dropFirst(index))).limits(of: $0) }
        ?? catalogue.free.limits
      let start = index < former.count ? former[index].end : .distantPast
      if start < to { steps.append(Retention.Step(limits: limits, end: min(end, to))) }
      end = start
    }
    return steps
  }

  /// This catalogue with the file that contains it.
  package func written(as file: String) -> Catalogue {
    var catalogue = self
    catalogue.file = file
    return catalogue
  }

  /// The meaning of a provider's subscription item.
  package enum Mapping: Hashable, Sendable {
    case plan(Plan)
    /// No longer listed, under this id. It keeps the plan that it last stood for.
    case kept(Plan, id: String)
    case ignored
    case unknown
  }

  /// The price's own mapping, otherwise its product's.
  ///
  /// A price that was listed keeps its plan, whatever its product stands for.
  package func mapping(provider: String, price: String?, product: String?) -> Mapping {
    let listed = product.flatMap { mappings[Key(provider: provider, id: $0)] }
    if let price {
      if let own = mappings[Key(provider: provider, id: price)] { return own }
      if let plan = keptPlan(provider, price) {
        return listed == .plan(plan) ? .plan(plan) : .kept(plan, id: price)
      }
    }
    if let listed { return listed }
    guard let product, let plan = keptPlan(provider, product) else { return .unknown }
    return .kept(plan, id: product)
  }

  /// The current amount of a price, then its earlier amounts, highest first.
  ///
  /// For a store whose invoices name prices that it does not know. What was bought at an earlier amount is kept.
  package func prices(provider: String, id: String) -> [Plan.Price] {
    let key = Key(provider: provider, id: id)
    let listed = paid.flatMap { $0.products }.first {
      $0.provider == provider && $0.id == id && $0.price != nil
    }?.price
    let kept = (keptPrices[key] ?? []).subtracting([listed].compactMap { $0 }).sorted {
      ($1.amountMinorUnits, $0.currency, $0.interval.rawValue)
        < ($0.amountMinorUnits, $1.currency, $1.interval.rawValue)
    }
    return [listed].compactMap { $0 } + kept
  }

  private func keptPlan(_ provider: String, _ id: String) -> Plan? {
    keptProducts[Key(provider: provider, id: id)].flatMap { plan($0) }
  }

  /// The plan with that id: free, paid, or sold earlier.
  package func plan(_ id: String) -> Plan? {
    id == free.id ? free : paid.first { $0.id == id } ?? keptPlans[id]
  }

  /// Whether the plan with that id adds to the others.
  package func isAddition(_ id: String) -> Bool { plan(id)?.isAddition ?? false }

  /// Whether any plan limits anything besides bytes.
  package var limitsMore: Bool {
    ([free] + paid).contains { !$0.limits.isEmpty } || former.contains { $0.catalogue.limitsMore }
  }

  /// Whether the id is listed, for a plan or as ignored.
  package func lists(provider: String, id: String) -> Bool {
    mappings[Key(provider: provider, id: id)] != nil
  }

  /// The plans with which an account of that cap could hold `byteCount` bytes, smallest first.
  package func plansThatFit(_ byteCount: Int64, beside cap: Int64) -> [Plan] {
    func held(_ plan: Plan) -> Int64 {
      plan.isAddition ? cap.addingClamped(plan.byteCount) : plan.byteCount
    }
    return ([free] + paid).filter { held($0) >= byteCount }
      .sorted { (held($0), $0.id) < (held($1), $1.id) }
  }

  struct Key: Hashable {
    let provider: String
    let id: String
  }

  private static func check(_ plans: [Plan]) throws(CatalogueError) {
    var seen: Set<String> = []
    for plan in plans {
      guard !plan.id.isEmpty else { throw .emptyPlanID }
      guard seen.insert(plan.id).inserted else { throw .duplicatePlan(plan.id) }
      guard plan.byteCount >= 0 else { throw .negativeSize(plan: plan.id) }
      let limits = [
        plan.limits.recordCount, plan.limits.shareCount, plan.limits.fileByteCount,
        plan.limits.historyDays, plan.limits.historyVersionCount, plan.limits.trashDays,
      ]
      guard limits.allSatisfy({ $0 ?? 0 >= 0 }) else { throw .negativeLimit(plan: plan.id) }
      for price in plan.prices where price.amountMinorUnits < 0 {
        throw .negativePrice(plan: plan.id)
      }
    }
  }

  private static func mappings(
    _ paid: [Plan], _ ignored: [Plan.Product]
  ) throws(CatalogueError) -> [Key: Mapping] {
    var mappings: [Key: Mapping] = [:]
    func add(_ product: Plan.Product, _ mapping: Mapping) throws(CatalogueError) {
      guard !product.provider.isEmpty, !product.id.isEmpty else { throw .emptyProduct }
      let key = Key(provider: product.provider, id: product.id)
      guard mappings.updateValue(mapping, forKey: key) == nil else {
        throw .duplicateProduct(product.id)
      }
    }
    for plan in paid {
      for product in plan.products { try add(product, .plan(plan)) }
    }
    for product in ignored { try add(product, .ignored) }
    return mappings
  }
}

extension Catalogue {
  /// The default catalogue: 1 MB free; 30 GB for $2.99 a month or $30 a year; no provider's ids.
  package static let standard: Catalogue = {
    do {
      return try Catalogue(
        version: "standard-1",
        free: Plan(id: "free", title: "Free", byteCount: 1_000_000),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 30_000_000_000,
            prices: [
              Plan.Price(amountMinorUnits: 299, currency: "usd", interval: .month),
              Plan.Price(amountMinorUnits: 3000, currency: "usd", interval: .year),
            ])
        ])
    } catch {
      preconditionFailure("the built-in catalogue is refused: \(error)")
    }
  }()
}

/// The reason why a catalogue is refused.
package enum CatalogueError: Error, Hashable, Sendable {
  case emptyVersion
  case emptyPlanID
  case duplicatePlan(String)
  case negativeSize(plan: String)
  case negativeLimit(plan: String)
  case negativePrice(plan: String)
  case negativeMetadataFee
  case largeMetadataFee
  case negativeFormerPlanDays
  case emptyProduct
  /// One provider id is listed twice with different meanings.
  case duplicateProduct(String)
  case unknownFallback(String)
}
