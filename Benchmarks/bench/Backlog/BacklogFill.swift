import Apple
import Base
import Crypto
import Google
import JSON
import Ledger
import Storage
import Stores
import Stripe
import Subscriptions
import Tiers

/// The subscriptions of a backlog as they were before it. Each is paid for the month that ended last, and
/// recorded in the ledger as if delivered.
struct BacklogFill {
  /// Few enough that the changes of a commit fit into the writer's cache.
  private static let batchCount = 500
  private static let noted = 100_000
  /// The body of earlier deliveries, which is sealed and kept.
  private static let body = [UInt8](repeating: 0x20, count: 200)

  let plan: BacklogPlan
  let sealing: SealingKeys
  let ledger: Ledger
  let progress: Progress
  /// Without a key nothing personal can be found.
  var search: SearchKey?
  /// The real bodies of those deliveries that are read again.
  var bodies: [Int: [UInt8]] = [:]

  func run(in directory: String) throws(BenchError) {
    do {
      let database = try Database.open(.sqlite(directory: directory), owning: .billing)
      defer { database.close() }
      let ledger = ledger
      try database.write(for: nil) { try ledger.takeForce(at: .now, in: $0) }
      let order = (0..<plan.subscriptionCount).map { (Self.name($0), $0) }
        .sorted { $0 < $1 }.map(\.1)
      for start in stride(from: 0, to: order.count, by: Self.batchCount) {
        if start % Self.noted == 0, start > 0 {
          progress.note("\(FoldBench.grouped(start)) of them")
        }
        let deliveries = order[start...].prefix(Self.batchCount).map(delivery)
        try database.write(for: nil) { transaction in
          for delivery in deliveries { _ = try ledger.record(delivery, in: transaction) }
        }
      }
    } catch {
      throw .command("filling a ledger: \(error)")
    }
  }

  /// The name by which most of a subscription's rows are ordered. If they are filled in the same order, a
  /// batch touches few pages.
  private static func name(_ index: Int) -> String {
    let store = BacklogPlan.store(index)
    guard store == .google else { return "\(store) \(Serial.digits(index))" }
    return PurchaseToken(GoogleNotifications.purchaseToken(index))?.objectKey.description ?? ""
  }

  private func delivery(_ index: Int) -> PreparedDelivery {
    let (store, facts) = self.facts(index)
    return PreparedDelivery(
      DecodedDelivery(
        provider: store.provider, environment: .live, deliveryID: Self.deliveryID(index),
        type: "before", object: facts.last?.key.id, facts: facts, terms: terms(index, facts),
        disposition: .joined, meaning: ["type": "before"]),
      of: store, received: begin(index) + .seconds(5), head: [], body: bodies[index] ?? Self.body,
      sealing: sealing, search: search)
  }

  static func deliveryID(_ index: Int) -> String { "before \(name(index))" }

  static func address(_ index: Int) -> String { "customer-\(index)@example.com" }

  private func terms(_ index: Int, _ facts: [Fact]) -> [SearchTerm] {
    guard search != nil, let key = facts.first?.key else { return [] }
    return [SearchTerm(Self.address(index), of: key, isPersonal: true)].compactMap { $0 }
  }

  private func begin(_ index: Int) -> Instant { plan.monthEnd(index) - BacklogPlan.month }

  private func facts(_ index: Int) -> (store: any Store, facts: [Fact]) {
    let serial = Serial.digits(index)
    let account = Identifier(BacklogPlan.account(index))
    switch BacklogPlan.store(index) {
    case .stripe: return (StripeStore(), stripe(serial, account, begin(index)))
    case .apple: return (AppleStore(), apple(serial, account, begin(index)))
    case .google: return (GoogleStore(), google(index, account))
    }
  }

  private func key(
    _ provider: ObjectKey.Provider, _ kind: ObjectKey.Kind, _ id: String
  ) -> ObjectKey {
    ObjectKey(provider: provider, environment: .live, kind: kind, id: id)
  }

  static func stripeID(_ serial: String) -> String { "sub_1S\(serial)KzVw7Qp" }

  private func stripe(_ serial: String, _ account: Identifier?, _ begin: Instant) -> [Fact] {
    let (price, product) = ("price_1S0BenchPremiumMonth", "prod_BenchPremium")
    let id = Self.stripeID(serial)
    let subscription = StripeSubscription(
      customer: "cus_T\(serial)", status: .active,
      items: [.init(price: price, product: product)], account: account)
    let invoice = StripeInvoice(
      subscription: id, status: .paid, isCycle: true, isAttempted: true, created: begin,
      paidAt: begin, amountPaid: 299,
      lines: [
        .init(
          price: price, product: product, amountMinorUnits: 299, from: begin,
          to: begin + BacklogPlan.month)
      ])
    return [
      Fact(
        key: key(.stripe, .subscription, id), object: StripeObject.subscription(subscription),
        asOf: .second(begin)),
      Fact(
        key: key(.stripe, .invoice, "in_0S\(serial)KzVw7Qp"),
        object: StripeObject.invoice(invoice), asOf: .second(begin)),
    ]
  }

  private func apple(_ serial: String, _ account: Identifier?, _ begin: Instant) -> [Fact] {
    let id = "200\(serial)"
    func fact(_ kind: ObjectKey.Kind, _ id: String, _ object: AppleObject) -> Fact {
      Fact(key: key(.apple, kind, id), object: object, asOf: .moment(begin))
    }
    return [
      fact(
        .transaction, "210\(serial)",
        .transaction(
          AppleTransaction(
            originalTransactionID: id, productID: AppleNotifications.productID,
            purchaseDate: begin, expiresDate: begin + BacklogPlan.month, account: account))),
      fact(
        .renewal, id,
        .renewal(
          AppleRenewal(
            productID: AppleNotifications.productID, willRenew: true, account: account))),
      fact(.status, id, .status(AppleStatus(.active))),
    ]
  }

  private func google(_ index: Int, _ account: Identifier?) -> [Fact] {
    guard let token = PurchaseToken(GoogleNotifications.purchaseToken(index)) else { return [] }
    let order = "GPA.3200-\(index)"
    let purchase = GooglePurchase(
      state: .active, startTime: begin(index),
      items: [
        .init(
          productID: GoogleNotifications.productID, basePlanID: "month",
          expiryTime: plan.monthEnd(index), autoRenews: true, latestOrderID: order)
      ], account: account)
    // Numbered before the first read that the server will make.
    return [
      Fact(
        key: token.objectKey, object: GoogleObject.purchase(purchase), asOf: .readNumber(0)),
      Fact(
        key: key(.google, .order, order),
        object: GoogleObject.order(GoogleOrder(purchase: token.objectKey.id, state: .processed)),
        asOf: .readNumber(0)),
    ]
  }
}
