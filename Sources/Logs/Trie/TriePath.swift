/// A place in a trie: the first digits of a minute in base 3, without leading zeros. The root has none.
package struct TriePath: Hashable, Sendable {
  /// 0, 1 and 2.
  let digits: [UInt8]

  /// A minute of the year 9999 has 21 digits.
  private static let digitCountMax = 21

  init(_ digits: some Sequence<UInt8>) { self.digits = Array(digits) }

  package static let root = TriePath([])

  init(minute: Int64) {
    var digits: [UInt8] = []
    var rest = minute
    repeat {
      digits.append(UInt8(rest % 3))
      rest /= 3
    } while rest > 0
    self.digits = digits.reversed()
  }

  /// Nil unless the text is of the digits 0, 1 and 2 only, and no longer than that of any minute.
  package init?(_ text: String) {
    let utf8 = Array(text.utf8)
    guard utf8.count <= Self.digitCountMax, utf8.allSatisfy({ 0x30...0x32 ~= $0 }) else {
      return nil
    }
    digits = utf8.map { $0 - 0x30 }
  }

  /// As one number: a trie finds its pages by their places many times, and each digit would be hashed by itself.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(digits.reduce(UInt64(1)) { $0 * 3 + UInt64($1) })
  }

  package var text: String { String(decoding: digits.map { $0 + 0x30 }, as: UTF8.self) }

  func child(_ digit: UInt8) -> TriePath { TriePath(digits + [digit]) }
}
