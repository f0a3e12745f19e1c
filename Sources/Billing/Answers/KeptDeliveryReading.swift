package import Crypto
package import Ledger
package import Storage
package import Stores

extension KeptDelivery {
  /// Decodes a stored delivery again with the current decoder, whose error it throws, or that of
  /// `message`.
  package static func decoded(
    again delivery: DeliverySummary, of stores: StoreList, sealing: SealingKeys,
    reading queryable: some Queryable
  ) throws -> DecodedDelivery {
    let message = try message(
      of: delivery, stores: stores, sealing: sealing, reading: queryable)
    guard let store = stores[delivery.provider] else {
      throw DatabaseError.statement("a delivery's store is unknown")
    }
    return try store.decoded(
      again: KeptMessage(
        deliveryID: delivery.deliveryID, environment: delivery.environment,
        received: delivery.received, isForeign: delivery.disposition == .foreign,
        body: parts(of: message).body))
  }

  /// The delivery as it came: head, empty line, body.
  ///
  /// - Throws: An `ErasedDelivery`, a `CryptoError` or a `CompressionError` if it cannot be opened.
  package static func message(
    of delivery: DeliverySummary, stores: StoreList, sealing: SealingKeys,
    reading queryable: some Queryable
  ) throws -> [UInt8] {
    guard let store = stores[delivery.provider],
      let sealed = try queryable.first(
        "SELECT sealed FROM billing.deliveries WHERE id = $1", .integer(delivery.number),
        row: { row in try row.blob(0) })
    else { throw DatabaseError.statement("a delivery's row is gone, or its store unknown") }
    return try message(sealed: sealed, of: store, deliveryID: delivery.deliveryID, sealing)
  }
}
