package import Base
import Ledger
import Storage
package import Subscriptions
package import Tiers

/// The state derived for some subscriptions and for the accounts that own them, to be compared with
/// another derivation.
package struct DerivedState: Sendable {
  package struct Subscription: Sendable, Equatable {
    package let owner: Identifier?
    package let label: Label
    package let willRenew: Bool
    package let intervals: [Coverage.Interval]
  }

  /// Nil for a subscription without derived state.
  package private(set) var subscriptions: [ObjectKey: Subscription?] = [:]
  /// Empty for accounts unknown to billing.
  package private(set) var schedules: [Identifier: [Schedule.Boundary]] = [:]

  init(
    of keys: [ObjectKey], at moment: Instant, reading database: some Queryable
  ) throws {
    for key in keys {
      guard let row = try SubscriptionRow(key, reading: database) else {
        subscriptions[key] = .some(nil)
        continue
      }
      let coverage = try Coverage(text: row.coverage)
      subscriptions[key] = Subscription(
        owner: row.owner,
        label: Label(coverage, withoutAccess: row.labelWithoutAccess, at: moment),
        willRenew: row.willRenew, intervals: coverage.intervals)
    }
    try readSchedules(of: subscriptions.values.compactMap { $0?.owner }, reading: database)
  }

  /// Adds the schedules of accounts that another state of the same subscriptions names.
  mutating func readSchedules(
    of accounts: [Identifier], reading database: some Queryable
  ) throws {
    for account in accounts where schedules[account] == nil {
      schedules[account] = try EntitlementRows.schedule(of: account, reading: database)
    }
  }
}

/// Two states of the same subscriptions, one after the other.
package struct DerivedChange: Sendable {
  package let before: DerivedState
  package let after: DerivedState

  /// The subscriptions that differ, ascending.
  package var subscriptions: [ObjectKey] {
    after.subscriptions.keys.filter { before.subscriptions[$0] != after.subscriptions[$0] }
      .sorted()
  }

  /// The accounts whose schedules differ at some time, ascending.
  package var accounts: [Identifier] {
    after.schedules.keys.filter { before.schedules[$0] != after.schedules[$0] }.sorted()
  }
}
