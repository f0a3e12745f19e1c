package import Base
package import Ledger
package import Storage
package import Subscriptions
import Tiers

/// An account's purchase, reduced to what buying and changing need.
package struct OwnedPurchase: Sendable {
  package let key: ObjectKey
  package let label: Label
  package let willRenew: Bool
  /// The end of the last period that was paid for or a trial.
  package let paidUntil: Instant?

  let isAddition: Bool

  /// Whether it continues by itself or can be recovered.
  package var isCurrent: Bool { label.isCurrent }
  /// Whether it is current and no addition, which counts beside any plan.
  package var preventsPurchase: Bool { isCurrent && !isAddition }
}

extension Coverage {
  /// Whether all that it gives at `now`, or gave before, adds to other plans.
  func isAddition(at now: Instant, _ catalogue: Catalogue) -> Bool {
    let begun = intervals.filter { $0.from <= now }
    let current = begun.filter { $0.contains(now) }
    let told = current.isEmpty ? begun : current
    return !told.isEmpty && told.allSatisfy { catalogue.isAddition($0.planID) }
  }
}

extension Label {
  var isCurrent: Bool {
    switch self {
    case .trialing, .active, .grace, .renewalPending, .onHold, .paused: true
    case .pending, .expired, .revoked, .superseded: false
    }
  }
}

extension Ledger {
  /// No account has more purchases that anyone looks at.
  private static let purchaseCountMax = 200

  /// Whether an account never paid for or tried anything in any store, counting what it owns and
  /// what it lost.
  package func isFirstPurchase(
    of account: Identifier, reading reader: some Queryable
  ) throws -> Bool {
    let went = try reader.first(
      """
      SELECT 1 FROM billing.transitions
      WHERE cause = 'owner' AND state_before <> 'none' AND state_before = $1 LIMIT 1
      """, .text(account.description)
    ) { try $0.integer(0) }
    guard went == nil else { return false }
    let owned = try reader.rows(
      """
      SELECT environment, coverage FROM billing.subscriptions
      WHERE owner = $1 ORDER BY updated_ms DESC, object LIMIT $2
      """, .id(account), .integer(Self.purchaseCountMax)
    ) { row in (try row.text(0), try row.text(1)) }
    return try !owned.contains { environment, text in
      try rules.grants(environment, to: account)
        && Coverage(text: text).intervals.contains { $0.why == .trial || $0.why == .subscribed }
    }
  }

  /// The purchases that an account owns and that count for it, latest derived first.
  package func purchases(
    of account: Identifier, at now: Instant, reading reader: some Queryable
  ) throws -> [OwnedPurchase] {
    let catalogue = try catalogue(reading: reader)
    return try reader.rows(
      """
      SELECT \(SubscriptionRow.columns), object FROM billing.subscriptions
      WHERE owner = $1 ORDER BY updated_ms DESC, object LIMIT $2
      """, .id(account), .integer(Self.purchaseCountMax)
    ) { row in (try SubscriptionRow(row), try row.text(SubscriptionRow.columnCount)) }
    .compactMap { row, object in
      guard rules.grants(row.environment.rawValue, to: account), let key = ObjectKey(object) else {
        return nil
      }
      let coverage = try Coverage(text: row.coverage)
      let paid = coverage.intervals.filter { $0.why == .subscribed || $0.why == .trial }
      return OwnedPurchase(
        key: key, label: Label(coverage, withoutAccess: row.labelWithoutAccess, at: now),
        willRenew: row.willRenew, paidUntil: paid.map(\.to).max(),
        isAddition: coverage.isAddition(at: now, catalogue))
    }
  }
}

extension LedgerReading {
  /// Whether no other account owns a purchase that the customer made. What an operator transfers stays with its
  /// customer at its store, whose page and cards are for all purchases.
  package func isCustomer(_ customer: ObjectKey, onlyOf account: Identifier) throws -> Bool {
    try origins(of: .part, to: customer).allSatisfy { purchase in
      let owner = try stored(purchase).row?.owner
      return owner == nil || owner == account
    }
  }
}
