import Glibc

/// A text that was checked against its limits, and shortened for jansson, which takes about 10 ns for each byte.
///
/// Spaces between tokens are removed. In an ASCII text without escapes, long strings are lifted out. The stand-in of
/// each begins with a character that is not ASCII. Grammar is left to the parser, except that jansson 2.14 takes a null
/// byte after the document for its end.
struct JSONScan {
  /// Means the same as the scanned text, with stand-ins for the lifted strings.
  let text: [UInt8]
  /// The places of the lifted strings in the scanned text, without their quotes.
  let lifted: [Range<Int>]

  /// Shorter strings cost jansson little.
  private static let liftedByteCountMin = 16
  private static let liftedCountMax = 1 << 16

  init(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
    guard bytes.count <= limits.byteCountMax else {
      throw JSONError(code: .tooLarge, message: "more than \(limits.byteCountMax) bytes")
    }
    var scanner = Scanner(limits: limits)
    // Without room the array would be the one that all empty arrays share, and its count is written.
    text = unsafe [UInt8](unsafeUninitializedCapacity: max(1, bytes.count)) { output, count in
      unsafe bytes.withUnsafeBufferPointer { unsafe scanner.scan($0, into: output) }
      count = scanner.writtenCount
    }
    if let failure = scanner.failure { throw failure }
    lifted = scanner.lifted
  }

  /// One pass through the text. The output is never longer than the input read so far.
  private struct Scanner {
    let limits: JSONLimits
    var failure: JSONError?
    var lifted: [Range<Int>] = []
    var writtenCount = 0

    init(limits: JSONLimits) { self.limits = limits }

    mutating func scan(
      _ bytes: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
    ) {
      if let index = unsafe JSONScan.first(0, of: bytes, in: 0..<bytes.count) {
        failure = JSONError(code: .nullCharacter, message: "a null byte at byte \(index)")
        return
      }
      let isPlain = unsafe JSONScan.isPlain(bytes)
      let kinds = JSONScan.kinds
      var depth = 0
      var valueCount = 1
      var written = 0
      // Whether a space must precede the next token, unless one of them is a mark: `1 2` must not become `12`.
      var owesSpace = false
      var index = 0
      while index < bytes.count {
        let byte = unsafe bytes[index]
        let kind = kinds[Int(byte)]
        if kind == .space {
          owesSpace = true
          index += 1
          continue
        }
        if kind == .mark {
          switch byte {
          case UInt8(ascii: "["), UInt8(ascii: "{"):
            depth += 1
            valueCount += 1
          case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
          case UInt8(ascii: ","): valueCount += 1
          default: break
          }
          if depth > limits.depthMax {
            failure = JSONError(
              code: .tooDeep, message: "more than \(limits.depthMax) levels at byte \(index)")
            return
          }
          unsafe output[written] = byte
          (written, index, owesSpace) = (written + 1, index + 1, false)
          // No space is needed after it either.
          while index < bytes.count, unsafe kinds[Int(bytes[index])] == .space {
            index += 1
          }
          continue
        }
        if owesSpace, written > 0 {
          unsafe output[written] = UInt8(ascii: " ")
          written += 1
        }
        owesSpace = false
        guard byte == UInt8(ascii: "\"") else {
          unsafe output[written] = byte
          (written, index) = (written + 1, index + 1)
          continue
        }
        let end = unsafe JSONScan.endOfString(bytes, from: index + 1, isPlain: isPlain)
        let content = index + 1..<max(index + 1, end - 1)
        if isPlain, content.count >= JSONScan.liftedByteCountMin,
          lifted.count < JSONScan.liftedCountMax,
          unsafe JSONScan.canBeLifted(content, of: bytes)
        {
          unsafe JSONScan.writeStandIn(lifted.count, to: output, &written)
          lifted.append(content)
        } else {
          unsafe memcpy(output.baseAddress! + written, bytes.baseAddress! + index, end - index)
          written += end - index
        }
        index = end
      }
      writtenCount = written
      if valueCount > limits.valueCountMax {
        failure = JSONError(code: .tooLarge, message: "more than \(limits.valueCountMax) values")
      }
    }
  }
}

extension JSONScan {
  private enum Kind: UInt8 {
    case other
    case space
    /// A bracket, a comma or a colon.
    case mark
  }

  private static let kinds: [Kind] = (0..<256).map { byte in
    switch UInt8(byte) {
    case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): .space
    case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"),
      UInt8(ascii: ","), UInt8(ascii: ":"):
      .mark
    default: .other
    }
  }

  /// Writes, in quotes, U+FFFC (the object replacement character) and the number in letters of five bits.
  private static func writeStandIn(
    _ number: Int, to output: UnsafeMutableBufferPointer<UInt8>, _ written: inout Int
  ) {
    unsafe output[written] = UInt8(ascii: "\"")
    unsafe output[written + 1] = 0xEF
    unsafe output[written + 2] = 0xBF
    unsafe output[written + 3] = 0xBC
    unsafe output[written + 4] = letter(number >> 15)
    unsafe output[written + 5] = letter(number >> 10)
    unsafe output[written + 6] = letter(number >> 5)
    unsafe output[written + 7] = letter(number)
    unsafe output[written + 8] = UInt8(ascii: "\"")
    written += 9
  }

  /// `0` to `O`. Six bits would include the backslash, and a stand-in that escapes its own quote.
  private static let letters = UInt8(ascii: "0")...UInt8(ascii: "O")

  /// Four letters can number all lifted strings.
  private static func letter(_ number: Int) -> UInt8 { letters.lowerBound + UInt8(number & 31) }

  /// The number of the lifted string that `text` stands in for; nil if it is not a stand-in.
  static func number(ofStandIn text: UnsafeRawBufferPointer) -> Int? {
    guard text.count == 7, unsafe text[0] == 0xEF, unsafe text[1] == 0xBF, unsafe text[2] == 0xBC
    else { return nil }
    var number = 0
    for index in 3..<7 {
      let letter = unsafe text[index]
      guard letters.contains(letter) else { return nil }
      number = number << 5 | Int(letter - letters.lowerBound)
    }
    return number
  }

  private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var bits: UInt8 = 0
    for index in 0..<bytes.count { unsafe bits |= bytes[index] }
    return unsafe bits < 0x80
      && first(UInt8(ascii: "\\"), of: bytes, in: 0..<bytes.count) == nil
  }

  private static func endOfString(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isPlain: Bool
  ) -> Int {
    if isPlain {
      let quote = unsafe first(UInt8(ascii: "\""), of: bytes, in: start..<bytes.count)
      return quote.map { $0 + 1 } ?? bytes.count
    }
    var index = start
    while index < bytes.count {
      let byte = unsafe bytes[index]
      index += 1
      if byte == UInt8(ascii: "\"") { return index }
      if byte == UInt8(ascii: "\\") { index += 1 }
    }
    return bytes.count
  }

  /// Whether jansson would accept the string unchanged, and it is no name: the parser checks that none occurs twice.
  private static func canBeLifted(
    _ content: Range<Int>, of bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard content.upperBound < bytes.count,
      unsafe bytes[content.upperBound] == UInt8(ascii: "\"")
    else { return false }
    var least: UInt8 = 0xFF
    for index in content { unsafe least = min(least, bytes[index]) }
    var next = content.upperBound + 1
    while next < bytes.count, unsafe kinds[Int(bytes[next])] == .space { next += 1 }
    return unsafe least >= 0x20 && !(next < bytes.count && bytes[next] == UInt8(ascii: ":"))
  }

  private static func first(
    _ byte: UInt8, of bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>
  ) -> Int? {
    guard let start = bytes.baseAddress,
      let found = unsafe memchr(start + range.lowerBound, Int32(byte), range.count)
    else { return nil }
    return unsafe start.distance(to: found.assumingMemoryBound(to: UInt8.self))
  }
}
