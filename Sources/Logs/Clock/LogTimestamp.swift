package import Base

/// When a message was made, by a hybrid logical clock: milliseconds, a counter, and the device's node.
///
/// Its text has one form: `2026-11-20T08:30:15.250Z-00FF-fedcba9876543210`, with an upper-case hexadecimal counter and
/// a node of 16 letters and digits. Others are refused, because trees of hashes are over the text. Bytes and texts have
/// one order.
package struct LogTimestamp: Hashable, Sendable {
  private let milliseconds: Int64
  private let counter: UInt16
  /// The node's 16 letters and digits, the first one highest. As numbers, timestamps are compared and hashed without a
  /// look at memory of their own: a request has thousands of them.
  private let node: UInt128

  private static let byteCount = 26
  private static let nodeByteCount = 16
  /// The first moment that has no text of this form: the year 10000.
  private static let endMilliseconds: Int64 = 253_402_300_800_000

  /// Nil unless the bytes are those of a timestamp.
  package init?(bytes: [UInt8]) {
    let node = bytes.suffix(Self.nodeByteCount)
    guard bytes.count == Self.byteCount, node.allSatisfy(TimestampText.isNode) else { return nil }
    milliseconds = bytes[..<8].reduce(0) { $0 << 8 | Int64($1) }
    counter = UInt16(bytes[8]) << 8 | UInt16(bytes[9])
    self.node = Self.number(node)
    guard 0..<Self.endMilliseconds ~= milliseconds else { return nil }
  }

  /// Nil unless the text is in the one form, and names a moment that exists.
  package init?(_ text: [UInt8]) {
    guard let parsed = TimestampText.parse(text) else { return nil }
    (milliseconds, counter) = (parsed.milliseconds, parsed.counter)
    node = Self.number(parsed.node)
  }

  package init?(_ text: String) { self.init(Array(text.utf8)) }

  private static func number(_ node: ArraySlice<UInt8>) -> UInt128 {
    let half = node.startIndex + nodeByteCount / 2
    func value(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return UInt128(value(node[..<half])) << 64 | UInt128(value(node[half...]))
  }

  /// Eight bytes of milliseconds since 1970, two of the counter, the highest first, and the node's 16.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.byteCount)
    Self.append(UInt64(milliseconds), to: &bytes)
    Self.append(counter, to: &bytes)
    appendNode(to: &bytes)
    return bytes
  }

  private func appendNode(to bytes: inout [UInt8]) {
    Self.append(UInt64(truncatingIfNeeded: node >> 64), to: &bytes)
    Self.append(UInt64(truncatingIfNeeded: node), to: &bytes)
  }

  private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
    for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  package var instant: Instant { Instant(milliseconds: milliseconds) }

  /// The whole minutes since 1970, by which trees of hashes place a timestamp.
  package var minute: Int64 { milliseconds / 60_000 }

  /// The text, as 46 bytes of ASCII.
  package var text: [UInt8] {
    var text = TimestampText.withoutNode(milliseconds: milliseconds, counter: counter)
    appendNode(to: &text)
    return text
  }
}

extension LogTimestamp: Comparable {
  package static func < (a: LogTimestamp, b: LogTimestamp) -> Bool {
    (a.milliseconds, a.counter, a.node) < (b.milliseconds, b.counter, b.node)
  }
}

extension LogTimestamp: CustomStringConvertible {
  package var description: String { String(decoding: text, as: UTF8.self) }
}
