package import Base

/// When a message was made, by a hybrid logical clock: milliseconds, a counter, and the device's node.
///
/// Its text has one form: `2026-11-20T08:30:15.250Z-00FF-fedcba9876543210`, with the counter in upper-case
/// hexadecimal. The node's 16 letters and digits are kept as they are. Other forms are refused, because trees of
/// hashes are over the text. The order is that of the bytes, as in both database engines, and it is that of the
/// texts.
package struct LogTimestamp: Hashable, Comparable, Sendable {
  /// Eight bytes of milliseconds since 1970, two of the counter, the highest first, and the node's 16.
  package let bytes: [UInt8]

  private static let byteCount = 26
  private static let nodeByteCount = 16
  /// The first moment that has no text of this form: the year 10000.
  private static let endMilliseconds: Int64 = 253_402_300_800_000

  private init(milliseconds: Int64, counter: Int64, node: ArraySlice<UInt8>) {
    bytes =
      (0..<8).map { UInt8(truncatingIfNeeded: milliseconds >> (56 - 8 * Int64($0))) }
      + [UInt8(truncatingIfNeeded: counter >> 8), UInt8(truncatingIfNeeded: counter)] + node
  }

  /// Nil unless the bytes are those of a timestamp.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount,
      bytes.suffix(Self.nodeByteCount).allSatisfy(TimestampText.isNode)
    else { return nil }
    self.bytes = bytes
    guard 0..<Self.endMilliseconds ~= milliseconds else { return nil }
  }

  /// Nil unless the text is in the one form, and names a moment that exists.
  package init?(_ text: [UInt8]) {
    guard let parsed = TimestampText.parse(text) else { return nil }
    self.init(milliseconds: parsed.milliseconds, counter: parsed.counter, node: parsed.node)
  }

  package init?(_ text: String) { self.init(Array(text.utf8)) }

  private var milliseconds: Int64 { bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }

  package var instant: Instant { Instant(milliseconds: milliseconds) }

  /// The whole minutes since 1970, by which trees of hashes place a timestamp.
  package var minute: Int64 { milliseconds / 60_000 }

  /// The text, as 46 bytes of ASCII.
  package var text: [UInt8] {
    TimestampText.write(
      milliseconds: milliseconds, counter: Int64(bytes[8]) << 8 | Int64(bytes[9]),
      node: bytes.suffix(Self.nodeByteCount))
  }

  package static func < (a: LogTimestamp, b: LogTimestamp) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }
}

extension LogTimestamp: CustomStringConvertible {
  package var description: String { String(decoding: text, as: UTF8.self) }
}
