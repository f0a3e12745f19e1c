import Base
import Storage

/// The one customer of an account at Stripe.
struct StripeCustomers {
  /// Nil if none was made yet, or Stripe no longer has it.
  let id: String?
  /// Grows when Stripe no longer has the customer, so that the next one is another.
  let number: Int64

  init(of account: Identifier, reading reader: some Queryable) throws {
    let row = try reader.first(
      "SELECT customer, number FROM billing.customers WHERE account_id = $1", .id(account)
    ) { row in (try row.optionalText(0), try row.integer(1)) }
    (id, number) = row ?? (nil, 0)
  }

  /// Stores the customer unless the account already has one. Returns the stored one.
  static func keep(
    _ customer: String, of account: Identifier, in transaction: Transaction
  ) throws -> String {
    try transaction.execute(
      """
      INSERT INTO billing.customers (account_id, customer, number) VALUES ($1, $2, 0)
      ON CONFLICT (account_id) DO UPDATE SET customer = COALESCE(customers.customer, excluded.customer)
      """, .id(account), .text(customer))
    return try StripeCustomers(of: account, reading: transaction).id ?? customer
  }

  static func forget(
    _ customer: String, of account: Identifier, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.customers SET customer = NULL, number = number + 1
      WHERE account_id = $1 AND customer = $2
      """, .id(account), .text(customer))
  }
}
