import Storage
import Stores
import Subscriptions
import Tiers

/// A delivery's position in the ledger.
package struct DeliveryRow: Sendable {
  let id: Int64
  /// Whether it came before with the same meaning.
  let isRedelivery: Bool
  /// Whether another delivery has the same delivery id and another meaning.
  let isConflicting: Bool

  /// Stores the delivery under a number, or counts it if it is already stored.
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

  /// Changes whenever a decoder reads something new. Deliveries keep the version that read them.
  package static let decoderVersion: Int64 = 3
}
