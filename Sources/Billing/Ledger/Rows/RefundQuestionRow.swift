package import Base
package import Storage
package import Subscriptions

/// A store's question before a refund, and the answer: the latest for each payment.
package struct RefundQuestionRow: Sendable {
  package let payment: ObjectKey
  package let asked: Instant
  /// An answer after this time counts for nothing.
  package let until: Instant
  /// The account whose usage was reported; nil if none was.
  package let account: Identifier?
  /// When it was settled, even if only by silence; nil while it is open.
  package let answered: Instant?
  /// The answer, for people.
  package let answer: String?

  private static let columns = "payment, asked_ms, until_ms, account_id, answered_ms, answer"

  private init?(_ row: borrowing Row) throws {
    guard let payment = ObjectKey(try row.text(0)) else { return nil }
    self.payment = payment
    asked = try row.instant(1)
    until = try row.instant(2)
    account = try row.optionalID(3)
    answered = try row.optionalInstant(4)
    answer = try row.optionalText(5)
  }

  package static func find(
    _ payment: ObjectKey, reading database: some Queryable
  ) throws -> RefundQuestionRow? {
    try database.first(
      "SELECT \(columns) FROM billing.refund_questions WHERE payment = $1",
      .text(payment.description)
    ) { row in try RefundQuestionRow(row) } ?? nil
  }

  /// The questions before `last`, newest first; only those of one account if it is given.
  package static func all(
    of account: Identifier?, before last: RefundQuestionRow?, limit: Int,
    reading database: some Queryable
  ) throws -> [RefundQuestionRow] {
    let condition = account == nil ? "" : "account_id = $4 AND "
    return try database.rows(
      """
      SELECT \(columns) FROM billing.refund_questions
      WHERE \(condition)(asked_ms < $1 OR asked_ms = $1 AND payment < $2)
      ORDER BY asked_ms DESC, payment DESC LIMIT $3
      """,
      values: [
        .instant(last?.asked ?? .distantFuture), .text(last?.payment.description ?? ""),
        .integer(Int64(limit)),
      ] + (account.map { [.id($0)] } ?? [])
    ) { row in try RefundQuestionRow(row) }.compactMap { $0 }
  }

  /// Records a question that is asked for the first time, or again.
  static func ask(
    _ payment: ObjectKey, asked: Instant, until: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.refund_questions (payment, asked_ms, until_ms) VALUES ($1, $2, $3)
      ON CONFLICT (payment) DO UPDATE SET asked_ms = excluded.asked_ms,
        until_ms = excluded.until_ms, account_id = NULL, answered_ms = NULL, answer = NULL
      WHERE refund_questions.until_ms < excluded.until_ms
      """, .text(payment.description), .instant(asked), .instant(until))
  }

  /// Settles the question, unless it was asked again meanwhile.
  package func settle(
    _ answer: String, of account: Identifier?, at now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE billing.refund_questions SET account_id = $3, answered_ms = $4, answer = $5
      WHERE payment = $1 AND asked_ms = $2
      """, .text(payment.description), .instant(asked), .id(account), .instant(now), .text(answer))
  }
}
