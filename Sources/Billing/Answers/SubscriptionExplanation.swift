package import Base
package import Ledger
package import Storage
package import Subscriptions

/// Everything that billing knows about one purchase, for an operator who has a number of it.
package struct SubscriptionExplanation: Sendable {
  package let told: EntitlementExplanation.Subscription
  package let owner: Identifier?
  /// Its earlier owners, latest first; at most 10.
  package let formerOwners: [Finding.FormerOwner]
  /// The accounts that its store, or the purchase that it continues, names as its owner.
  package let named: [Identifier]
  /// The accounts that claim it and wait for its first read; at most 10.
  package let claimants: [Identifier]
  /// The refused claims to it, newest first; at most 10.
  package let refusedClaims: [RefusedClaim]
  /// By the store's ids, if it reports them.
  package let customers: [String]
  /// The objects that the store reported for it, including the subscription itself; at most 100.
  package let objects: [ObjectKey]
  /// Newest first, at most 20.
  package let deliveries: [DeliverySummary]
  /// The number of such deliveries.
  package let deliveryTotal: DeliveryPage.Total

  private static let objectCountMax = 100
  private static let deliveryCountMax = 20

  /// Nil if nothing was ever derived for it.
  package init?(
    _ key: ObjectKey, at now: Instant, of ledger: Ledger, reading reader: Reader
  ) throws {
    let reading = ledger.reading(reader)
    let catalogue = try ledger.catalogue(reading: reader)
    guard
      let told = try EntitlementExplanation.Subscription(
        key, at: now, about: now, catalogue, reading)
    else { return nil }
    self.told = told
    let subscription = try reading.subscription(key)
    owner = subscription.ownership.account
    formerOwners = try Finding.FormerOwner.all(of: key, reading: reader)
    named = subscription.candidates.sorted()
    claimants = try Finding.claimants(of: key, reading: reader)
    refusedClaims = try RefusedClaims.all(about: key, at: now, reading: reader)
    customers = subscription.record.customers
    objects = Array(
      Set(try reading.objects(of: key, countMax: Self.objectCountMax)).sorted()
        .prefix(Self.objectCountMax))
    var filter = DeliveryFilter()
    filter.objects = try reading.ids(of: [key])
    filter.countMax = Self.deliveryCountMax
    let page = try DeliveryPage(filter, of: ledger, reading: reader)
    deliveries = page.deliveries
    deliveryTotal = try page.total(filter, of: ledger, reading: reader)
  }
}
