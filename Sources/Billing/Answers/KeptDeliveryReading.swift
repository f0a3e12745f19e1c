package import Crypto
package import Ledger
package import Storage
package import Stores

extension KeptDelivery {
  /// What a delivery says to the decoder of today.
  ///
  /// Throws an `ErasedDelivery`, a `CryptoError` or a `CompressionError` for what cannot be opened, and what
  /// the decoder throws for what it cannot read.
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

  /// As it came: its head, an empty line, its body.
  ///
  /// Throws an `ErasedDelivery`, a `CryptoError` or a `CompressionError` for what cannot be opened.
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
