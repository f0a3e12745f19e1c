package import Base
import Compression
package import Crypto
package import Storage
package import Stores
package import Subscriptions

/// A delivery as it came, in the form of an HTTP message: what proved it, an empty line, its body. In
/// its row it is compressed, then sealed.
package struct KeptDelivery: Sendable {
  package let number: Int64
  package let type: String
  package let received: Instant
  package let message: [UInt8]

  /// The longest read is 200 answers of 4 MiB.
  private static let messageByteCountMax = 1 << 30

  static func sealed(
    head: [UInt8], body: [UInt8], of store: any Store, deliveryID: String, _ sealing: SealingKeys
  ) -> [UInt8] {
    sealing.seal(
      store.compressor.compress(head + Array("\r\n\r\n".utf8) + body),
      context: sealingContext(store.provider, deliveryID))
  }

  /// - Throws: An `ErasedDelivery`, a `CryptoError` or a `CompressionError` if it cannot be opened.
  package static func message(
    sealed: [UInt8], of store: any Store, deliveryID: String, _ sealing: SealingKeys
  ) throws -> [UInt8] {
    guard !sealed.isEmpty else { throw ErasedDelivery() }
    let opened = try sealing.open(sealed, context: sealingContext(store.provider, deliveryID))
    return try store.compressor.decompress(opened, byteCountMax: messageByteCountMax)
  }

  /// The same message, sealed by the first key. Throws a `CryptoError` if no key opens it.
  package static func resealed(
    _ sealed: [UInt8], of provider: ObjectKey.Provider, deliveryID: String,
    _ sealing: SealingKeys
  ) throws -> [UInt8] {
    let context = sealingContext(provider, deliveryID)
    return sealing.seal(try sealing.open(sealed, context: context), context: context)
  }

  /// Binds a sealed message to its row, so that rows cannot be swapped.
  private static func sealingContext(
    _ provider: ObjectKey.Provider, _ deliveryID: String
  ) -> [UInt8] {
    Array("\(provider.rawValue)|\(deliveryID)".utf8)
  }

  /// When a delivery came, and which of the keys sealed it; nil if none of them did.
  package struct Sealed: Sendable {
    package let number: Int64
    package let received: Instant
    package let keyIndex: Int?
  }

  /// The latest delivery up to a number.
  package static func sealed(
    upTo number: Int64 = .max, by keys: SealingKeys, reading queryable: some Queryable
  ) throws -> Sealed? {
    try queryable.first(
      """
      SELECT id, received_ms, substr(sealed, 1, \(SealingKeys.prefixByteCount))
      FROM billing.deliveries WHERE id <= $1 AND length(sealed) > 0 ORDER BY id DESC LIMIT 1
      """, .integer(number)
    ) { row in
      Sealed(
        number: try row.integer(0), received: try row.instant(1),
        keyIndex: keys.index(ofSealed: try row.blob(2)))
    }
  }

  /// Since when the first of the keys seals; nil if it has sealed nothing yet. New keys are put in
  /// front, so what the first key sealed follows what others did.
  package static func firstKeySeals(
    _ keys: SealingKeys, reading queryable: some Queryable
  ) throws -> Instant? {
    guard let latest = try sealed(by: keys, reading: queryable), latest.keyIndex == 0 else {
      return nil
    }
    var (low, high, since) = (Int64(0), latest.number, latest.received)
    while low < high {
      let middle = low + (high - low) / 2
      if let found = try sealed(upTo: middle, by: keys, reading: queryable), found.keyIndex == 0 {
        (high, since) = (found.number, found.received)
      } else {
        low = middle + 1
      }
    }
    return since
  }

  /// All deliveries with one id, in the order of their arrival: one, unless the store contradicted itself.
  package static func find(
    _ deliveryID: String, of store: any Store, sealing: SealingKeys,
    reading queryable: some Queryable
  ) throws -> [KeptDelivery] {
    try queryable.rows(
      """
      SELECT id, type, received_ms, sealed FROM billing.deliveries
      WHERE provider = $1 AND environment IN ('live', 'sandbox', 'unknown') AND delivery_id = $2
      ORDER BY id LIMIT 100
      """, .text(store.provider.rawValue), .text(deliveryID)
    ) { row in
      KeptDelivery(
        number: try row.integer(0), type: try row.text(1), received: try row.instant(2),
        message: try message(
          sealed: try row.blob(3), of: store, deliveryID: deliveryID, sealing))
    }
  }

  /// The parts before and after the first empty line.
  package static func parts(of message: [UInt8]) -> (head: [UInt8], body: [UInt8]) {
    guard let end = message.firstRange(of: Array("\r\n\r\n".utf8)) else { return ([], message) }
    return (Array(message[..<end.lowerBound]), Array(message[end.upperBound...]))
  }
}

/// The error for a delivery whose body was erased with its account.
package struct ErasedDelivery: Error, CustomStringConvertible {
  package var description: String { "its body was erased with the account that it was of" }
}
