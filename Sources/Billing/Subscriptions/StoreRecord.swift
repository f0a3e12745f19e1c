package import Base
package import Tiers

/// What one store told of one subscription, and what follows from it.
///
/// A join-semilattice: `insert` and `merge` commute and repeat without effect, so that the order of
/// arrival cannot matter. Everything else is a function of it.
package protocol StoreRecord: Hashable, Sendable {
  associatedtype Object: StoreObject

  /// With nothing known yet of the subscription with that id.
  init(id: String)

  /// Joins one object as a delivery shows it.
  @discardableResult
  mutating func insert(_ object: Object, id: String, asOf: AsOf, delivery: Int64) -> MirrorChange

  mutating func merge(_ other: Self)

  /// Whether maximal values disagree, so that the store must be read again.
  var isDirty: Bool { get }

  /// What is owed; where siblings disagree, what any of them owes.
  func coverage(policy: Policy, catalogue: Catalogue) -> Coverage

  /// What the subscription is while nothing is owed.
  func labelWithoutAccess(hadAccess: Bool) -> Label

  /// Whether the store will bill again if nobody does anything.
  var willRenew: Bool { get }

  /// Since when that is so, by its store's own time; nil where it does not tell.
  var renewalSince: Instant? { get }

  /// Whose it is, in the store's own words.
  var token: OwnerToken { get }

  /// Its customers, by the store's own ids, as far as it tells them.
  var customers: [String] { get }

  /// Objects that it names and that nobody told of, though they say what is owed.
  func unknown(of key: ObjectKey) -> [ObjectKey]

  /// Objects that concern it and are not linked to it: whose end is its end.
  func companions(of key: ObjectKey) -> [ObjectKey]

  /// What its store tells of products and money, for people.
  var bill: Bill { get }

  /// When what its store granted last ends, which an extension moves; nil where nothing tells.
  var end: Instant? { get }

  /// Since when its store waits to be told that it was delivered, or takes it back.
  var unacknowledgedSince: Instant? { get }

  /// Whether it stands still, and why, for its customer.
  var pause: Pause? { get }

  /// Whether it is of the sandbox, whatever the world that it was told in.
  var isTest: Bool { get }
}

extension StoreRecord {
  package func unknown(of key: ObjectKey) -> [ObjectKey] { [] }
  package func companions(of key: ObjectKey) -> [ObjectKey] { [] }
  package var customers: [String] { [] }
  package var renewalSince: Instant? { nil }
  package var end: Instant? { bill.payments.compactMap(\.to).max() }
  package var unacknowledgedSince: Instant? { nil }
  package var pause: Pause? { nil }
  package var isTest: Bool { false }
}

extension StoreRecord {
  /// Another store's object is a mistake, and ignored.
  mutating func insert(_ fact: Fact, delivery: Int64) -> MirrorChange {
    guard let object = fact.object.base as? Object else { return MirrorChange() }
    return insert(object, id: fact.key.id, asOf: fact.asOf, delivery: delivery)
  }

  mutating func merge(any other: any StoreRecord) {
    if let other = other as? Self { merge(other) }
  }

  func isSame(as other: any StoreRecord) -> Bool { (other as? Self) == self }
}
