package import Audit
import Base
package import Storage
import Stores
package import Subscriptions
import Tiers

/// Orders as rows of the table.
package enum OrderRows {
  private static let columns = """
    number, subscription, kind, payment, amount, currency, days, cause, known_refunds, known_end_ms, state,
    asked_ms, tried_ms, read_number, answer, closing_number
    """

  private static func order(_ row: borrowing Row) throws -> Order {
    let number = try row.integer(0)
    let asked = try row.instant(11)
    guard let subscription = ObjectKey(try row.text(1)),
      let state = Order.State(rawValue: try row.text(10)),
      let kind = StoreOrder.Kind(rawValue: try row.text(2)),
      let request = try request(
        kind, payment: row.optionalText(3), amount: row.optionalText(4),
        currency: row.optionalText(5), days: row.optionalInteger(6), cause: row.optionalText(7),
        // A restored database may assign a number again.
        name: "\(number)-\(asked.milliseconds)", knownEnd: row.optionalInstant(9))
    else {
      throw DatabaseError.statement("the order \(number) is of another version of the program")
    }
    return Order(
      number: number, subscription: subscription, request: request,
      knownRefundCount: try row.optionalInteger(8) ?? 0, state: state, asked: asked,
      tried: try row.optionalInstant(12), readNumber: try row.optionalInteger(13),
      answer: try row.optionalText(14),
      closing: try row.optionalInteger(15).map { AuditEntry.Name(.billing, $0) })
  }

  private static func request(
    _ kind: StoreOrder.Kind, payment: String?, amount: String?, currency: String?, days: Int64?,
    cause: String?, name: String, knownEnd: Instant?
  ) -> StoreOrder? {
    switch kind {
    case .stopRenewal: return .stopRenewal
    case .end: return .end
    case .refund:
      guard let payment else { return nil }
      let part = amount.flatMap { amount in currency.map { Money(amount: amount, currency: $0) } }
      return .refund(payment: payment, amount: part, name: name)
    case .extend:
      guard let days, let cause = cause.flatMap({ ExtensionCause(rawValue: $0) }) else {
        return nil
      }
      return .extend(days: days, because: cause, knownEnd: knownEnd)
    }
  }

  package static func find(_ number: Int64, reading reader: some Queryable) throws -> Order? {
    try reader.first(
      "SELECT \(columns) FROM billing.orders WHERE number = $1", .integer(number), row: order)
  }

  /// The subscription's order of that kind that is not closed.
  static func open(
    _ kind: StoreOrder.Kind, about subscription: ObjectKey, reading reader: some Queryable
  ) throws -> Order? {
    try reader.first(
      """
      SELECT \(columns) FROM billing.orders
      WHERE subscription = $1 AND kind = $2 AND state IN ('open', 'doubted')
      """, .text(subscription.description), .text(kind.rawValue), row: order)
  }

  /// The newest order of that kind that was done, about a subscription and a payment of it.
  static func done(
    _ kind: StoreOrder.Kind, about subscription: ObjectKey, payment: String?,
    reading reader: some Queryable
  ) throws -> Order? {
    try reader.first(
      """
      SELECT \(columns) FROM billing.orders
      WHERE subscription = $1 AND kind = $2 AND coalesce(payment, '') = $3 AND state = 'done'
      ORDER BY number DESC LIMIT 1
      """, .text(subscription.description), .text(kind.rawValue), .text(payment ?? ""), row: order)
  }

  /// The orders about a subscription, newest first.
  package static func newest(
    about subscription: ObjectKey, limit: Int, reading reader: some Queryable
  ) throws -> [Order] {
    try reader.rows(
      """
      SELECT \(columns) FROM billing.orders WHERE subscription = $1 ORDER BY number DESC LIMIT $2
      """, .text(subscription.description), .integer(limit), row: order)
  }

  static func insert(
    _ plan: OrderPlan, number: Int64, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.orders (number, subscription, kind, payment, amount, currency, days, cause,
        known_refunds, known_end_ms, state, asked_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11)
      """, .integer(number), .text(plan.subscription.description), .text(plan.kind.rawValue),
      .text(plan.payment), .text(plan.amount?.amount), .text(plan.amount?.currency),
      .integer(plan.days),
      .text(plan.cause?.rawValue), .integer(plan.knownRefundCount), .instant(plan.knownEnd),
      .instant(now))
  }

  /// Records that the store is about to be asked.
  static func begin(_ order: Order, at now: Instant, in transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE billing.orders SET tried_ms = $2 WHERE number = $1", .integer(order.number),
      .instant(now))
  }

  /// Records an answer that leaves the order open.
  static func note(_ answer: String, _ order: Order, in transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE billing.orders SET answer = $2 WHERE number = $1", .integer(order.number),
      .text(answer))
  }

  /// From now on a read decides. `number` is that read, once it is known.
  static func doubt(
    _ order: Order, because answer: String?, read number: Int64?, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.orders SET state = 'doubted', answer = $2, read_number = $3 WHERE number = $1
      """, .integer(order.number), .text(answer), .integer(number))
  }

  /// Closes a doubted order about which its store can no longer be asked.
  package static func abandon(
    _ order: Order, as entry: AuditEntry, in transaction: Transaction
  ) throws {
    let answer = (order.answer ?? "its store did not answer") + "; an operator dropped the order"
    try close(
      order, .failed, answer, entry: entry.name.number, at: entry.at, in: transaction)
  }

  static func close(
    _ order: Order, _ state: Order.State, _ answer: String, entry: Int64, at now: Instant,
    in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.orders SET state = $2, answer = $3, closed_ms = $4, closing_number = $5
      WHERE number = $1
      """, .integer(order.number), .text(state.rawValue), .text(answer), .instant(now),
      .integer(entry))
  }
}
