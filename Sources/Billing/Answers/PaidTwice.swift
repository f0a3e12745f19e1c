package import Base
package import Ledger
package import Storage
import Stores
package import Subscriptions
import Tiers

/// Subscriptions that an account pays for at the same time although their caps do not add up, and
/// those of them that are superfluous. Additions are none of them.
package struct PaidTwice: Sendable {
  /// The one that counts: the largest plan; of equal ones, the one that was paid for first.
  package let kept: Part
  /// Those that add nothing and can be refunded.
  package let surplus: [Part]

  package struct Part: Sendable {
    package let key: ObjectKey
    /// The store's name for people.
    package let store: String
    package let planID: String
    /// The payment of the plan's current period, otherwise the newest one; nil if the store reports none.
    package let payment: Bill.Payment?
    /// Whether its store refunds when Coffer orders it; otherwise the customer must ask the store.
    package let isRefundedHere: Bool

    /// The amount and where it was paid, for people.
    package var price: String {
      payment?.amount.map { "\($0) at \(store)" } ?? "an amount that \(store) does not report"
    }
  }

  /// The most subscriptions that are looked at.
  private static let countMax = 50

  /// Nil unless more than one of an account's subscriptions is paid for at that moment.
  init?(
    _ subscriptions: [EntitlementExplanation.Subscription], _ catalogue: Catalogue,
    _ stores: StoreList, at now: Instant
  ) throws {
    let paid = try subscriptions.compactMap { subscription in
      try Self.rank(subscription, catalogue, stores, at: now)
    }.sorted { ($1.size, $0.since, $0.part.key) < ($0.size, $1.since, $1.part.key) }
    guard let first = paid.first, paid.count > 1 else { return nil }
    kept = first.part
    surplus = paid.dropFirst().map(\.part)
  }

  /// Reads the same for an account; nil unless it is recorded as paying twice.
  package init?(
    by account: Identifier, at now: Instant, of ledger: Ledger, reading reader: Reader
  ) throws {
    let isNoted =
      try reader.first(
        "SELECT 1 FROM billing.double_payments WHERE account_id = $1", .id(account)
      ) { try $0.integer(0) } != nil
    guard isNoted else { return nil }
    let (reading, catalogue) = (ledger.reading(reader), try ledger.catalogue(reading: reader))
    let keys = try reading.subscriptions(ownedBy: account, countMax: Self.countMax)
    let found = try keys.compactMap { key in
      try EntitlementExplanation.Subscription(key, at: now, about: now, catalogue, reading)
    }.filter { ledger.rules.grants($0.environment.rawValue, to: account) }
    try self.init(found, catalogue, ledger.stores, at: now)
  }

  private static func rank(
    _ subscription: EntitlementExplanation.Subscription, _ catalogue: Catalogue,
    _ stores: StoreList, at now: Instant
  ) throws -> (part: Part, size: Int64, since: Instant)? {
    let paid = subscription.intervals.filter {
      ($0.why == .subscribed || $0.why == .contested) && !catalogue.isAddition($0.planID)
    }
    guard let current = paid.last(where: { $0.from <= now && now < $0.to }) else { return nil }
    let payments = subscription.bill.payments.filter { $0.state == .paid }
    // A newer one may be of an addition in the same subscription.
    let proof = payments.first { payment in
      subscription.key.sibling(payment.object.kind, payment.object.id) == current.evidence
    }
    let running = payments.first { $0.covers(now) }
    let store = try stores.store(of: subscription.key)
    let part = Part(
      key: subscription.key, store: subscription.store, planID: current.planID,
      payment: proof ?? running ?? payments.first,
      isRefundedHere: store.traits.orders.contains(.refund))
    return (
      part, catalogue.plan(current.planID)?.byteCount ?? 0,
      paid.map(\.from).min() ?? current.from
    )
  }
}
