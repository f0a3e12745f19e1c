package import Apple
package import Base
package import Google
package import SeededRandom
package import Subscriptions
package import Tiers

/// Facts of the App Store and Google Play, as their decoders make them.
package enum StoreFacts {
  package static let appleKey = ObjectKey(
    provider: .apple, environment: .live, kind: .subscription, id: "1000")
  package static let googleKey = ObjectKey(
    provider: .google, environment: .live, kind: .purchase, id: "a1")

  package static let catalogue: Catalogue = {
    do {
      return try Catalogue(
        version: "stores", free: Plan(id: "free", title: "Free", byteCount: 10),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 1000,
            products: [
              Plan.Product(provider: "apple", id: "premium"),
              Plan.Product(provider: "google", id: "premium"),
            ]),
          Plan(
            id: "plus", title: "Plus", byteCount: 2000,
            products: [
              Plan.Product(provider: "apple", id: "plus"),
              Plan.Product(provider: "google", id: "plus"),
            ]),
          Plan(
            id: "extra", title: "Extra", byteCount: 100, isAddition: true,
            products: [Plan.Product(provider: "google", id: "extra")]),
          Plan(
            id: "more", title: "More", byteCount: 10, isAddition: true,
            products: [Plan.Product(provider: "google", id: "more")]),
        ])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  package static func transaction(
    _ id: String, _ from: Double, _ to: Double, product: String = "premium",
    revoked: Double? = nil, _ kind: AppleTransaction.Revocation.Kind = .full,
    percentage: Int64? = nil, signed: Double? = nil, account: Identifier? = accountA,
    ownership: AppleTransaction.Ownership = .purchased, committedTo: Double? = nil
  ) -> Fact {
    fact(
      .transaction, id,
      .transaction(
        AppleTransaction(
          originalTransactionID: "1000", productID: product, purchaseDate: at(from),
          expiresDate: at(to),
          revocation: revoked.map {
            AppleTransaction.Revocation(
              date: at($0), kind: kind, percentageMilliunits: percentage)
          }, ownership: ownership, account: account,
          commitment: committedTo.map { .init(end: at($0)) })), signed ?? from)
  }

  package static func renewal(
    _ signed: Double, renews: Bool = true, intent: Int64? = nil, retry: Bool = false,
    grace: Double? = nil, commitmentRenews: Bool? = nil
  ) -> Fact {
    fact(
      .renewal, "1000",
      .renewal(
        AppleRenewal(
          productID: "premium", willRenew: renews, expirationIntent: intent,
          isInBillingRetry: retry, gracePeriodExpiresDate: grace.map { at($0) },
          commitmentWillRenew: commitmentRenews)), signed)
  }

  package static func status(_ signed: Double, _ number: Int64) -> Fact {
    fact(.status, "1000", .status(AppleStatus(AppleStatus.State(number))), signed)
  }

  private static func fact(
    _ kind: ObjectKey.Kind, _ id: String, _ object: AppleObject, _ signed: Double
  ) -> Fact {
    Fact(
      key: ObjectKey(provider: .apple, environment: .live, kind: kind, id: id),
      object: object, asOf: .moment(at(signed)))
  }

  package static func purchase(
    _ state: GooglePurchase.State, _ from: Double?, _ to: Double?, id: String = "a1",
    readNumber: Int64 = 1, product: String = "premium", renews: Bool = true,
    replaces: String? = nil, order: String? = "o0", account: Identifier? = accountA
  ) -> Fact {
    Fact(
      key: ObjectKey(provider: .google, environment: .live, kind: .purchase, id: id),
      object:
        GoogleObject.purchase(
          GooglePurchase(
            state: state, startTime: from.map { at($0) },
            items: [
              GooglePurchase.Item(
                productID: product, expiryTime: to.map { at($0) }, autoRenews: renews,
                latestOrderID: order)
            ], replaces: replaces, account: account)), asOf: .readNumber(readNumber))
  }

  package static func order(_ id: String, _ state: GoogleOrder.State, readNumber: Int64 = 1) -> Fact
  {
    Fact(
      key: ObjectKey(provider: .google, environment: .live, kind: .order, id: id),
      object: GoogleObject.order(GoogleOrder(purchase: "a1", state: state)),
      asOf: .readNumber(readNumber))
  }

  /// One line for each step of the schedule, such as `day 0 premium subscribed`.
  package static func schedule(
    _ key: ObjectKey, _ facts: [Fact], policy: Policy = .standard
  ) -> [String] {
    let coverage = subscription(key, facts).coverage(policy: policy, catalogue: catalogue)
    return Schedule([coverage], catalogue: catalogue).boundaries.dropFirst().map { step in
      "\(dayText(step.from)) \(step.planID) \(step.reason.rawValue)"
    }
  }

  package static func label(_ key: ObjectKey, _ facts: [Fact], day: Double) -> Label {
    let subscription = subscription(key, facts)
    return subscription.label(
      subscription.coverage(policy: .standard, catalogue: catalogue), at: at(day))
  }

  package static func subscription(_ key: ObjectKey, _ facts: [Fact]) -> Subscription {
    var subscription = empty(key)
    for (index, fact) in facts.enumerated() { subscription.insert(fact, delivery: Int64(index)) }
    return subscription
  }

  /// A subscription of the key's store of which nothing is known yet.
  package static func empty(_ key: ObjectKey) -> Subscription {
    key.provider == .apple
      ? Subscription(key, AppleRecord(id: key.id)) : Subscription(key, GoogleRecord(id: key.id))
  }

  // MARK: nonsense that must obey the laws all the same

  package static func anyApple(_ random: inout SeededGenerator) -> Fact {
    let day = Double(Int.random(in: 0...40, using: &random)) / 2
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      return renewal(
        day, renews: Bool.random(using: &random),
        intent: [nil, 1, 2].randomElement(using: &random)!, retry: Bool.random(using: &random),
        grace: [nil, day + 6].randomElement(using: &random)!,
        commitmentRenews: [nil, true, false].randomElement(using: &random)!)
    case 1: return status(day, Int64.random(in: 1...6, using: &random))
    default:
      let number = Int.random(in: 0...3, using: &random)
      let from = Double(number * 30)
      return transaction(
        "t\(number)", from, from + 30,
        product: ["premium", "plus", "other"].randomElement(using: &random)!,
        revoked: [nil, nil, from + 9].randomElement(using: &random)!,
        AppleTransaction.Revocation.Kind.allCases.randomElement(using: &random)!, signed: day,
        account: [accountA, accountB, nil].randomElement(using: &random)!,
        ownership: [.purchased, .assigned, .other("NEW")].randomElement(using: &random)!,
        committedTo: [nil, from + 360].randomElement(using: &random)!)
    }
  }

  package static func anyGoogle(_ random: inout SeededGenerator) -> Fact {
    let readNumber = Int64.random(in: 1...4, using: &random)
    if Int.random(in: 0..<5, using: &random) == 0 {
      return order(
        "o\(Int.random(in: 1...3, using: &random))",
        GoogleOrder.State.allCases.randomElement(using: &random)!, readNumber: readNumber)
    }
    let isSuccessor = Bool.random(using: &random)
    let states: [GooglePurchase.State] = [
      .pending, .active, .paused, .inGracePeriod, .onHold, .canceled, .expired, .other("NEW"),
    ]
    return purchase(
      states.randomElement(using: &random)!, Bool.random(using: &random) ? 0 : nil,
      Bool.random(using: &random) ? 30 : nil, id: isSuccessor ? "b2" : "a1",
      readNumber: readNumber, replaces: isSuccessor ? "a1" : nil)
  }
}
