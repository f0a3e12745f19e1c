package import Base
package import Ledger
package import Storage
package import Subscriptions

/// The payments for everything that an account owns, and the money returned; each newest first.
package struct PaymentHistory: Sendable {
  package let payments: [(subscription: ObjectKey, payment: Bill.Payment)]
  package let reversals: [(subscription: ObjectKey, reversal: Bill.Reversal)]

  /// For one account, the most purchases that are looked at, and the most payments that are listed.
  fileprivate static let (purchaseCountMax, countMax) = (50, 200)
}

extension Ledger {
  package func paymentHistory(
    of account: Identifier, at now: Instant, reading database: some Queryable
  ) throws -> PaymentHistory {
    let reading = reading(database)
    let bills = try purchases(of: account, at: now, reading: database)
      .prefix(PaymentHistory.purchaseCountMax)
      .map { (key: $0.key, bill: try reading.subscription($0.key).record.bill) }
    let payments = bills.flatMap { key, bill in bill.payments.map { (key, $0) } }
      .sorted { $0.1.at > $1.1.at }
    let reversals = bills.flatMap { key, bill in bill.reversals.map { (key, $0) } }
      .sorted { $0.1.at > $1.1.at }
    return PaymentHistory(
      payments: payments.prefix(PaymentHistory.countMax).map { ($0.0, $0.1) },
      reversals: reversals.prefix(PaymentHistory.countMax).map { ($0.0, $0.1) })
  }
}
