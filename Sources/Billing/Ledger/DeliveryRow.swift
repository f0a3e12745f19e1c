internal import Base
internal import Storage
internal import Stores
internal import Subscriptions
internal import Tiers

/// A delivery's place in the ledger.
struct DeliveryRow: Sendable {
  let id: Int64
  /// It came before, with the same meaning.
  let isRedelivery: Bool
  /// Another delivery has the same delivery id and another meaning.
  let isConflicting: Bool

  /// Keeps the delivery under a number, or counts it where it is there already.
  init(
    inserting delivery: PreparedDelivery, as number: Int64, in transaction: Transaction
  ) throws {
    let decoded = delivery.decoded
    let row = try transaction.first(
      """
      INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
        api_version, object, created_ms, received_ms, decoder, disposition, conflicting,
        redelivery_count, sealed, proof, error)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
        (SELECT count(*) FROM billing.deliveries
          WHERE provider = $2 AND environment = $3 AND delivery_id = $4), 0, $13, $14, $15)
      ON CONFLICT (provider, environment, delivery_id, fingerprint)
      DO UPDATE SET redelivery_count = deliveries.redelivery_count + 1,
        disposition = excluded.disposition, redelivered_ms = excluded.received_ms
      RETURNING id, redelivery_count, conflicting
      """, .integer(number), .text(decoded.provider.rawValue),
      .text(decoded.environment?.rawValue ?? "unknown"), .text(decoded.deliveryID),
      .blob(delivery.fingerprint), .text(decoded.type), .text(decoded.apiVersion),
      .text(decoded.object), .instant(decoded.created), .instant(delivery.received),
      .integer(Self.decoderVersion), .text(decoded.disposition.rawValue), .blob(delivery.sealed),
      .text(delivery.proof), .text(delivery.error)
    ) { row in (try row.integer(0), try row.integer(1), try row.integer(2)) }
    guard let row else { throw DatabaseError.statement("a delivery's row did not come back") }
    id = row.0
    isRedelivery = row.1 > 0
    isConflicting = row.2 > 0
  }

  /// Changes whenever a decoder reads something new; deliveries keep the one that read them.
  static let decoderVersion: Int64 = 3

  /// Waits for whoever writes to the ledger; what is read after it is current.
  static func lockSequence(in transaction: Transaction) throws {
    try transaction.execute("UPDATE billing.sequence SET last_number = last_number WHERE id = 1")
  }

  /// The next number of a delivery or a decision; taking it also locks the sequence.
  static func nextNumber(in transaction: Transaction) throws -> Int64 {
    try takeNumbers(1, in: transaction)
  }

  /// The first of so many.
  static func takeNumbers(_ count: Int, in transaction: Transaction) throws -> Int64 {
    let last = try transaction.first(
      """
      UPDATE billing.sequence SET last_number = last_number + $1 WHERE id = 1 RETURNING last_number
      """, .integer(count)
    ) { row in try row.integer(0) }
    guard let last else { throw DatabaseError.statement("billing.sequence has lost its row") }
    return last - Int64(count) + 1
  }
}
