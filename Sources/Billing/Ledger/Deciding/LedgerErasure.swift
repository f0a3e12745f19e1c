package import Base
internal import Jobs
package import Storage
internal import Stores
package import Subscriptions

/// Erases what is personal of an account that is gone. What the law wants of its money stays: the stores'
/// objects with their ids, amounts and times, and what was decided.
extension Ledger {
  private static let sliceCountMax: Int64 = 250

  /// The subscriptions of the account that would be billed again, or of which something is still to be
  /// collected; none of one that another Coffer has.
  package func collecting(
    of account: Identifier, reading database: any Queryable
  ) throws -> [ObjectKey] {
    guard try !LeavingAccount.hasMoved(account, reading: database) else { return [] }
    return try database.rows(
      """
      SELECT object FROM billing.subscriptions WHERE owner = $1 AND \(Self.isCollecting)
      ORDER BY object LIMIT 200
      """, .id(account)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// Of a subscription's row: whether it would be billed again, or something of it is still to be collected.
  private static let isCollecting =
    "(will_renew = 1 OR label_without_access IN ('on_hold', 'paused'))"

  /// Whether any subscription of the account is one of those, wherever the account is.
  package static func isCollected(from account: Identifier, reading database: any Queryable) throws
    -> Bool
  {
    try database.first(
      "SELECT 1 FROM billing.subscriptions WHERE owner = $1 AND \(isCollecting) LIMIT 1",
      .id(account)
    ) { _ in true } ?? false
  }

  /// Those of the account that are not over, as far as is known; none of one that another Coffer has.
  package func living(
    of account: Identifier, reading database: any Queryable
  ) throws -> [ObjectKey] {
    guard try !LeavingAccount.hasMoved(account, reading: database) else { return [] }
    return try database.rows(
      """
      SELECT object FROM billing.subscriptions
      WHERE owner = $1 AND label_without_access <> 'revoked' ORDER BY object LIMIT 200
      """, .id(account)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// One slice; false once nothing is left. What the account owned is nobody's from the first one on.
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
    // What it began and never bought is found by its id alone.
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

  /// What came stays as a row that says when and what of; its body is gone.
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

  /// Of what a store tells of somebody who is gone, nothing personal is kept.
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
