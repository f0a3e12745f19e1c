import Glibc

/// A text that a store signed or answered: anything that RFC 8259 allows, of which we need a few members.
///
/// A number or a character that cannot be held is replaced, so that the rest is readable. No decoder reads it.
enum ForeignText {
  /// A text of the same length without numbers out of range, U+0000 and escapes of half a surrogate pair.
  static func readable(_ bytes: [UInt8]) -> [UInt8] {
    var text = bytes
    var isString = false
    var index = 0
    while index < text.count {
      let byte = text[index]
      if isString {
        if byte == UInt8(ascii: "\\") {
          index += replaceEscape(in: &text, at: index)
        } else {
          if byte == UInt8(ascii: "\"") { isString = false }
          index += 1
        }
      } else if byte == UInt8(ascii: "-") || isDigit(byte) {
        let end = text[index...].firstIndex { !isOfNumber($0) } ?? text.count
        if isOutOfRange(text[index..<end]) {
          text.replaceSubrange(
            index..<end,
            with: standIn + [UInt8](repeating: 0x20, count: end - index - standIn.count))
        }
        index = end
      } else {
        isString = byte == UInt8(ascii: "\"")
        index += 1
      }
    }
    return text
  }

  /// Replaces the escape at `index` if its character cannot be held. Returns the length of it, or of a whole pair.
  private static func replaceEscape(in text: inout [UInt8], at index: Int) -> Int {
    let byteCount = replacementEscape.count
    guard let unit = unit(in: text, at: index) else { return 2 }
    if UTF16.isLeadSurrogate(unit),
      let next = Self.unit(in: text, at: index + byteCount), UTF16.isTrailSurrogate(next)
    {
      return 2 * byteCount
    }
    if unit == 0 || UTF16.isSurrogate(unit) {
      text.replaceSubrange(index..<(index + byteCount), with: replacementEscape)
    }
    return byteCount
  }

  /// The UTF-16 code unit of an escape `\uXXXX`; nil for anything else.
  private static func unit(in text: [UInt8], at index: Int) -> UInt16? {
    let escape = text[min(index, text.count)...].prefix(replacementEscape.count)
    guard escape.count == replacementEscape.count, escape.starts(with: #"\u"#.utf8) else {
      return nil
    }
    return escape.dropFirst(2).reduce(UInt16?.some(0)) { unit, byte in
      guard let unit, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      return unit << 4 | UInt16(digit)
    }
  }

  private static let replacementEscape = Array(#"\uFFFD"#.utf8)
  /// Not an integer, so that a reader of an integer gets an error.
  private static let standIn = Array("0.5".utf8)

  /// Whether a number that follows the grammar is out of range. Anything else is left for the parser to refuse.
  private static func isOutOfRange(_ token: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: token, as: UTF8.self)
    guard token.count > standIn.count,
      let match = text.wholeMatch(of: #/-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/#)
    else { return false }
    if match.1 == nil, match.2 == nil { return Int64(text) == nil }
    return unsafe !strtod(text, nil).isFinite
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    isDigit(byte) || "-+.eE".utf8.contains(byte)
  }
}
