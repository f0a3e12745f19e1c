package import Base
import Storage
package import Subscriptions

extension LedgerReading {
  /// No customer has bought more.
  private static let subscriptionCountMax: Int64 = 200
  /// Enough for decades of monthly invoices and payments.
  package static let objectCountMax = 2000

  /// The subscriptions that an account owns, ascending.
  package func subscriptions(
    ownedBy account: Identifier, countMax: Int = .max
  ) throws -> [ObjectKey] {
    try database.rows(
      "SELECT object FROM billing.subscriptions WHERE owner = $1 ORDER BY object LIMIT $2",
      .id(account), .integer(countMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// The subscriptions that an account owns or once owned.
  package func subscriptions(concerning account: Identifier) throws -> [ObjectKey] {
    try database.rows(
      """
      SELECT object FROM billing.subscriptions WHERE owner = $1
      UNION
      SELECT object FROM billing.transitions
      WHERE cause = 'owner' AND state_before <> 'none' AND state_before = $2
      ORDER BY object LIMIT $3
      """, .id(account), .text(account.description), .integer(Self.subscriptionCountMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// The stores' ids of every object that was reported for these subscriptions, ascending.
  package func ids(of subscriptions: [ObjectKey]) throws -> [String] {
    Set(try subscriptions.flatMap { try objects(of: $0).map(\.id) }).sorted()
  }

  /// Every object that was reported for a subscription: its own, its parts, and those that concern it.
  package func objects(of key: ObjectKey, countMax: Int = objectCountMax) throws -> [ObjectKey] {
    try reach(from: key, parts: true, countMax: countMax)
      + subscription(key).companions
  }
}
