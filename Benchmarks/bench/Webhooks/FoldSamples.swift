import Apple
import Base
import Stripe
import Subscriptions
import Tiers

/// Subscriptions of ten years, as the deliveries about them.
struct FoldSamples {
  static let periodCount = 120
  private static let start = Instant(seconds: 1_480_000_000)
  private static let month = Instant.Span.days(30)
  private static let stripeProduct = "prod_BenchPremium"
  private static let appleProduct = "com.example.coffer.premium.month"

  let catalogue: Catalogue

  init() throws(BenchError) {
    do throws(CatalogueError) {
      catalogue = try Catalogue(
        version: "bench-1", free: Plan(id: "free", title: "Free", byteCount: 1_000_000),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 30_000_000_000,
            products: [
              Plan.Product(provider: "stripe", id: Self.stripeProduct),
              Plan.Product(provider: "apple", id: Self.appleProduct),
            ])
        ])
    } catch {
      throw .command("the catalogue is refused: \(error)")
    }
  }

  static func key(_ provider: ObjectKey.Provider, _ id: String) -> ObjectKey {
    ObjectKey(provider: provider, environment: .live, kind: .subscription, id: id)
  }

  /// Events of one Stripe subscription: by turns the subscription itself and an invoice that is drafted,
  /// opened and paid. Each is repeated as often as needed to make `count` of them.
  static func stripe(_ id: String, account: Identifier, count: Int) -> [[Fact]] {
    let perPeriod = max(1, count / periodCount)
    return (0..<count).map { index in
      let period = min(index / perPeriod, periodCount - 1)
      let step = index - period * perPeriod
      let created = at(period) + .seconds(Int64(step))
      // Without repetition there are only the paid invoices, and the subscription in the last event.
      let isSubscription = perPeriod > 1 ? step % 2 == 1 : index == count - 1
      let invoice = Fact(
        key: ObjectKey(
          provider: .stripe, environment: .live, kind: .invoice, id: "in_\(id)\(period)"),
        object: StripeObject.invoice(Self.invoice(id, period, step, of: perPeriod)),
        asOf: .second(created))
      guard isSubscription else { return [invoice] }
      let subscription = Self.subscription(id, account: account, created: created)
      return perPeriod > 1 ? [subscription] : [invoice, subscription]
    }
  }

  static func subscription(_ id: String, account: Identifier, created: Instant) -> Fact {
    Fact(
      key: key(.stripe, id),
      object: StripeObject.subscription(
        StripeSubscription(
          customer: "cus_\(id)", status: .active,
          items: [.init(price: "price_BenchMonth", product: stripeProduct)], account: account)),
      asOf: .second(created))
  }

  /// The paid invoice of one period.
  static func paidInvoice(_ id: String, _ period: Int) -> Fact {
    Fact(
      key: ObjectKey(
        provider: .stripe, environment: .live, kind: .invoice, id: "in_\(id)\(period)"),
      object: StripeObject.invoice(invoice(id, period, 0, of: 1)), asOf: .second(at(period)))
  }

  private static func invoice(
    _ id: String, _ period: Int, _ step: Int, of stepCount: Int
  ) -> StripeInvoice {
    let isPaid = step >= stepCount / 2
    return StripeInvoice(
      subscription: id, status: isPaid ? .paid : step == 0 ? .draft : .open, isCycle: period > 0,
      isAttempted: isPaid, created: at(period), paidAt: isPaid ? at(period) : nil,
      amountPaid: isPaid ? 299 : 0,
      lines: [
        .init(
          price: "price_BenchMonth", product: stripeProduct, amountMinorUnits: 299,
          from: at(period), to: at(period + 1))
      ])
  }

  /// Notifications of one App Store subscription: a transaction, the renewal info and the status.
  static func apple(_ id: String, account: Identifier, count: Int) -> [[Fact]] {
    let perPeriod = max(1, count / periodCount)
    return (0..<count).map { index in
      let period = min(index / perPeriod, periodCount - 1)
      let asOf = AsOf.moment(at(period) + .seconds(Int64(index - period * perPeriod)))
      func fact(_ kind: ObjectKey.Kind, _ id: String, _ object: AppleObject) -> Fact {
        Fact(
          key: ObjectKey(provider: .apple, environment: .live, kind: kind, id: id),
          object: object, asOf: asOf)
      }
      return [
        fact(
          .transaction, "\(id)\(period)",
          .transaction(
            AppleTransaction(
              originalTransactionID: id, productID: appleProduct, purchaseDate: at(period),
              expiresDate: at(period + 1), account: account))),
        fact(
          .renewal, id,
          .renewal(AppleRenewal(productID: appleProduct, willRenew: true, account: account))),
        fact(.status, id, .status(AppleStatus(.active))),
      ]
    }
  }

  private static func at(_ period: Int) -> Instant {
    start + Instant.Span(milliseconds: month.milliseconds * Int64(period))
  }
}
