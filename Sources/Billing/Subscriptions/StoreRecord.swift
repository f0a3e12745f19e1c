package import Base
package import Tiers

/// Everything that one store reported about one subscription, and what follows from it. It is a
/// join-semilattice: inserts commute and repeat without effect, so that the order of arrival
/// cannot matter. Everything else is a function of it.
package protocol StoreRecord: Equatable, Sendable {
  associatedtype Object: StoreObject

  /// Creates the record of the subscription with this id, with nothing known yet.
  init(id: String)

  /// Joins one object as a delivery shows it.
  mutating func insert(_ object: Object, id: String, asOf: AsOf, delivery: Int64)

  /// Whether maximal values disagree, so that the store must be read again.
  var isDirty: Bool { get }

  /// The access that is owed; if siblings disagree, everything that any of them owes.
  func coverage(policy: Policy, catalogue: Catalogue) -> Coverage

  /// The label while nothing is owed.
  func labelWithoutAccess(hadAccess: Bool) -> Label

  /// Whether the store will bill again if no one intervenes.
  var willRenew: Bool { get }

  /// Since when `willRenew` has its value, by the store's own time; nil if the store does not report it.
  var renewalSince: Instant? { get }

  /// The date for which it is cancelled: access ends then without a further event. Nil if there is none.
  var endDate: Instant? { get }

  /// The owner as the store itself names it.
  var token: OwnerToken { get }

  /// The customers, by the store's own ids, as far as it reports them.
  var customers: [String] { get }

  /// Objects that the subscription names and no delivery reported, although they decide what is owed.
  func unknown(of key: ObjectKey) -> [ObjectKey]

  /// Objects that concern the subscription without being linked to it: if one ends, the subscription ends.
  func companions(of key: ObjectKey) -> [ObjectKey]

  /// The products and money that the store reports, for people to read.
  var bill: Bill { get }

  /// The end of the last period that the store granted, which an extension moves; nil if unknown.
  var end: Instant? { get }

  /// Since when the store has waited for an acknowledgement, without which it takes the purchase back.
  var unacknowledgedSince: Instant? { get }

  /// Whether the subscription is paused for its customer, and why.
  var pause: Pause? { get }

  /// Whether the purchase is from the sandbox, regardless of the environment of its deliveries.
  var isTest: Bool { get }
}

extension StoreRecord {
  package func unknown(of key: ObjectKey) -> [ObjectKey] { [] }
  package func companions(of key: ObjectKey) -> [ObjectKey] { [] }
  package var customers: [String] { [] }
  package var renewalSince: Instant? { nil }
  package var endDate: Instant? { nil }
  package var end: Instant? { bill.payments.compactMap(\.to).max() }
  package var unacknowledgedSince: Instant? { nil }
  package var pause: Pause? { nil }
  package var isTest: Bool { false }
}

extension StoreRecord {
  /// Ignores another store's object, which is a mistake.
  mutating func insert(_ fact: Fact, delivery: Int64) {
    guard let object = fact.object.base as? Object else { return }
    insert(object, id: fact.key.id, asOf: fact.asOf, delivery: delivery)
  }

  func isSame(as other: any StoreRecord) -> Bool { (other as? Self) == self }
}
