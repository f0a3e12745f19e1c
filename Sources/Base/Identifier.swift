/// A 128-bit identifier of an account, a file or a stored object, written as a lower-case UUID.
///
/// The order is that of the bytes, as in both database engines.
package struct Identifier: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil unless there are exactly 16 bytes.
  package init?(bytes: [UInt8]) { self.init(bytes: bytes[...]) }

  /// The same. Not generic: a row has several identifiers, and other modules would run the generic code as it is.
  package init?(bytes: ArraySlice<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.init(
      high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
      low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// Nil unless the text is a UUID in its 8-4-4-4-12 form, in either case.
  package init?(_ text: String) {
    let utf8 = Array(text.utf8)
    guard utf8.count == 36, [8, 13, 18, 23].allSatisfy({ utf8[$0] == UInt8(ascii: "-") }),
      let bytes = Hex.decode(utf8.filter { $0 != UInt8(ascii: "-") })
    else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> (56 - 8 * UInt64($0 % 8))) }
  }

  package static func < (a: Identifier, b: Identifier) -> Bool {
    (a.high, a.low) < (b.high, b.low)
  }
}

extension Identifier: CustomStringConvertible {
  package var description: String {
    var text = Array(Hex.encode(bytes).utf8)
    for place in [8, 13, 18, 23] { text.insert(UInt8(ascii: "-"), at: place) }
    return String(decoding: text, as: UTF8.self)
  }
}
