package import Base
package import Storage
package import Subscriptions

/// Erases the personal data of an account that is gone. What the law requires about its money
/// stays: the stores' objects with their ids, amounts and times, and the decisions.
extension Ledger {
  private static let sliceCountMax: Int64 = 250

  /// The account's subscriptions that would be billed again, or for which something is still to be
  /// collected. None if another Coffer has the account.
  package func collecting(
    of account: Identifier, reading database: any Queryable
  ) throws -> [ObjectKey] {
    try owned(by: account, where: Self.isCollecting, reading: database)
  }

  /// The condition on a subscription's row that it would be billed again, or that something is
  /// still to be collected for it.
  private static let isCollecting =
    "(will_renew = 1 OR label_without_access IN ('on_hold', 'paused'))"

  /// Whether the account has any such subscription, wherever the account is.
  package static func isCollected(from account: Identifier, reading database: any Queryable) throws
    -> Bool
  {
    try database.first(
      "SELECT 1 FROM billing.subscriptions WHERE owner = $1 AND \(isCollecting) LIMIT 1",
      .id(account)
    ) { _ in true } ?? false
  }

  /// The account's subscriptions that were not revoked, at most 200. None if another Coffer has the account.
  package func living(
    of account: Identifier, reading database: any Queryable
  ) throws -> [ObjectKey] {
    try owned(by: account, where: "label_without_access <> 'revoked'", reading: database)
  }

  private func owned(
    by account: Identifier, where condition: String, reading database: any Queryable
  ) throws -> [ObjectKey] {
    guard try !LeavingAccount.hasMoved(account, reading: database) else { return [] }
    return try database.rows(
      """
      SELECT object FROM billing.subscriptions WHERE owner = $1 AND \(condition)
      ORDER BY object LIMIT 200
      """, .id(account)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// Erases one slice; returns false once nothing is left. From the first slice on, what the
  /// account owned has no owner.
  package func erase(
    _ account: Identifier, at now: Instant, in transaction: Transaction
  ) throws -> Bool {
    let decided = try Decided.all(of: account, reading: transaction)
    let isDecided = decided.contains { one in
      if case .accountDeleted = one.decision { true } else { false }
    }
    guard isDecided else {
      try decide(.accountDeleted(account), at: now, in: transaction)
      return true
    }
    let reading = reading(transaction)
    for key in try reading.subscriptions(concerning: account)
    where try reading.subscription(key).ownership.evidence == .deletedAccount {
      for object in try reading.objects(of: key, countMax: .max) {
        if try eraseDeliveries(of: object, in: transaction) { return true }
        try eraseTerms(of: object, in: transaction)
      }
    }
    // What the account began and never bought is found by the account's id alone.
    let begun = try SearchRow.objects(
      foundBy: [Array(account.description.utf8)], countMax: 1, reading: transaction)
    if let object = begun.first {
      if try !eraseDeliveries(of: object, in: transaction) {
        try eraseTerms(of: object, in: transaction)
      }
      return true
    }
    return try eraseRows(of: account, in: transaction)
  }

  /// Erases a delivery's body. Its row stays and shows when it came and what it was about.
  private func eraseDeliveries(
    of object: ObjectKey, in transaction: Transaction
  ) throws -> Bool {
    try transaction.execute(
      """
      UPDATE billing.deliveries SET sealed = $3 WHERE id IN (
        SELECT id FROM billing.deliveries
        WHERE object = $1 AND provider = $2 AND length(sealed) > 0 LIMIT $4)
      """, .text(object.id), .text(object.provider.rawValue), .blob([]),
      .integer(Self.sliceCountMax)) > 0
  }

  private func eraseTerms(of object: ObjectKey, in transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM billing.search_terms WHERE object = $1", .text(object.description))
  }

  private func eraseRows(of account: Identifier, in transaction: Transaction) throws -> Bool {
    let flows = try transaction.rows(
      "SELECT id FROM billing.flows WHERE account_id = $1 LIMIT $2", .id(account),
      .integer(Self.sliceCountMax)
    ) { row in try row.id(0) }
    for flow in flows {
      try transaction.execute(
        "DELETE FROM billing.jobs WHERE kind = 'flow' AND object = $1", .text(flow.description))
      try transaction.execute("DELETE FROM billing.flows WHERE id = $1", .id(flow))
    }
    let notices = try transaction.execute(
      """
      DELETE FROM billing.notices WHERE (account_id, number) IN (
        SELECT account_id, number FROM billing.notices WHERE account_id = $1 LIMIT $2)
      """, .id(account), .integer(Self.sliceCountMax))
    guard flows.isEmpty, notices == 0 else { return true }
    try transaction.execute(
      "DELETE FROM billing.jobs WHERE kind = $1 AND object = $2", .text(Notices.job),
      .text(account.description))
    for table in [
      "refund_consents", "refund_questions", "refused_claims", "double_payments", "customers",
    ] {
      try transaction.execute(
        "DELETE FROM billing.\(table) WHERE account_id = $1", .id(account))
    }
    return false
  }

  /// Keeps nothing personal of what a store reports about a customer who is gone.
  func closeQuietly(
    _ deliveries: [(number: Int64, terms: [SearchRow])], in transaction: Transaction
  ) throws {
    for (number, terms) in deliveries {
      try transaction.execute(
        "UPDATE billing.deliveries SET sealed = $2 WHERE id = $1", .integer(number), .blob([]))
      for object in Set(terms.map(\.object)) { try eraseTerms(of: object, in: transaction) }
    }
  }
}
