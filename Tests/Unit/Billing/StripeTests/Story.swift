import Base
import StoreFacts
import Stripe
import Subscriptions
import Tiers

/// A provider's deliveries about one subscription, in the order in which things happened there.
struct Story {
  struct Delivery {
    let object: StripeObject
    let id: String
    let created: Instant
  }

  var deliveries: [Delivery] = []
  var policy = Policy.standard

  init(_ deliveries: [Delivery]) { self.deliveries = deliveries }

  /// The record after the deliveries in that order. A delivery's index is its number.
  func record(order: [Int]) -> Subscription {
    var subscription = Subscription(subscriptionKey, StripeRecord(id: subscriptionKey.id))
    for index in order {
      let delivery = deliveries[index]
      subscription.insert(
        Fact(
          key: ObjectKey(
            provider: .stripe, environment: .live, kind: delivery.object.kind, id: delivery.id),
          object: delivery.object, asOf: .second(delivery.created)),
        delivery: Int64(index))
    }
    return subscription
  }

  var record: Subscription { record(order: Array(deliveries.indices)) }

  var coverage: Coverage { record.coverage(policy: policy, catalogue: catalogue) }

  /// One line per step of the schedule: `day 0 premium subscribed`.
  var schedule: [String] {
    Schedule([coverage], catalogue: catalogue).boundaries.dropFirst().map { step in
      "\(dayText(step.from)) \(step.planID) \(step.reason.rawValue)"
    }
  }

  /// The schedule with the caps: `day 0 1050 premium subscribed`.
  var caps: [String] {
    Schedule([coverage], catalogue: catalogue).boundaries.dropFirst().map { step in
      "\(dayText(step.from)) \(step.capByteCount) \(step.planID) \(step.reason.rawValue)"
    }
  }

  func label(day: Double) -> Label { record.label(coverage, at: at(day)) }
}

let subscriptionID = "sub_1"
let subscriptionKey = ObjectKey(
  provider: .stripe, environment: .live, kind: .subscription, id: subscriptionID)
let catalogue: Catalogue = {
  do {
    return try Catalogue(
      version: "test",
      free: Plan(id: "free", title: "Free", byteCount: 10),
      paid: [
        plan("small", 100, price: "price_small"),
        plan("premium", 1000, price: "price_premium", "price_premium_year"),
        plan("fallback", 20, price: "price_fallback"),
        plan("extra", 50, price: "price_extra", adds: true),
        plan("more", 70, price: "price_more", adds: true),
      ], ignored: [Plan.Product(provider: "stripe", id: "price_shirt")])
  } catch {
    preconditionFailure("\(error)")
  }
}()

private func plan(
  _ id: String, _ byteCount: Int64, price: String..., adds: Bool = false
) -> Plan {
  Plan(
    id: id, title: id, byteCount: byteCount, isAddition: adds,
    products: price.map { Plan.Product(provider: "stripe", id: $0) })
}

func subscription(
  _ created: Double, _ status: StripeSubscription.Status, price: String = "price_premium",
  cancelAtPeriodEnd: Bool = false, cancelAt: Double? = nil, endedAt: Double? = nil,
  endedByFailedPayment: Bool = false, trial: ClosedRange<Double>? = nil, paused: Bool = false,
  items: [String: String] = [:], pause: StripeSubscription.Pause? = nil, began: Double? = nil,
  latestInvoice: String? = nil, schedule: String? = nil, account: Identifier? = accountA
) -> Story.Delivery {
  let named = items.sorted { $0.key < $1.key }.map {
    StripeSubscription.Item(id: $0.key, price: $0.value, product: "prod_1")
  }
  return Story.Delivery(
    object: .subscription(
      StripeSubscription(
        customer: "cus_1", status: status,
        items: named.isEmpty
          ? [StripeSubscription.Item(price: price, product: "prod_1")] : named,
        cancelAtPeriodEnd: cancelAtPeriodEnd, cancelAt: cancelAt.map(at),
        endedAt: endedAt.map(at), endedByFailedPayment: endedByFailedPayment,
        trialStart: trial.map { at($0.lowerBound) }, trialEnd: trial.map { at($0.upperBound) },
        collectionIsPaused: paused, pause: pause, began: began.map(at),
        latestInvoice: latestInvoice, schedule: schedule, account: account)),
    id: subscriptionID, created: at(created))
}

func invoice(
  _ created: Double, _ id: String, _ status: StripeInvoice.Status,
  lines: [(price: String, amount: Int64, from: Double, to: Double)], isCycle: Bool = true,
  isAttempted: Bool = true, made: Double? = nil, payments: [String] = []
) -> Story.Delivery {
  invoice(
    created, id, status,
    billing: lines.map { line($0.price, $0.amount, from: $0.from, to: $0.to, item: nil) },
    isCycle: isCycle, isAttempted: isAttempted, made: made, payments: payments)
}

/// An invoice with named items, which may have a due date or be written off.
func invoice(
  _ created: Double, _ id: String, _ status: StripeInvoice.Status,
  billing lines: [StripeInvoice.Line], isCycle: Bool = true, isAttempted: Bool = true,
  made: Double? = nil, due: Double? = nil, reason: String? = nil, payments: [String] = []
) -> Story.Delivery {
  let amount = lines.map(\.amountMinorUnits).reduce(0, +)
  return Story.Delivery(
    object: .invoice(
      StripeInvoice(
        subscription: subscriptionID, status: status, isCycle: isCycle, isAttempted: isAttempted,
        created: made.map(at) ?? lines.map(\.from).max() ?? at(created),
        paidAt: status == .paid ? at(created) : nil,
        amountPaid: status == .paid ? max(0, amount) : 0, dueAt: due.map(at),
        uncollectibleReason: reason, payments: payments, lines: lines)),
    id: id, created: at(created))
}

/// Since basil, a proration names no item.
func line(
  _ price: String, _ amount: Int64, from: Double, to: Double, item: String?
) -> StripeInvoice.Line {
  StripeInvoice.Line(
    item: item, price: price, product: "prod_1", amountMinorUnits: amount, from: at(from),
    to: at(to))
}

/// The common invoice: a month of premium.
func invoice(
  _ created: Double, _ id: String, _ status: StripeInvoice.Status, from: Double, to: Double,
  isCycle: Bool = true, isAttempted: Bool = true, payments: [String] = []
) -> Story.Delivery {
  invoice(
    created, id, status, lines: [("price_premium", 299, from, to)], isCycle: isCycle,
    isAttempted: isAttempted, payments: payments)
}
