import Base
import Glibc

/// A text in which base64url of JSON is replaced by what it encodes, at any depth.
///
/// A compressor cannot see through base64: a JWS that holds two others has the same certificates in different letters.
///
/// A text without such a part stays as it is. Any other begins with a zero byte. Then follow a literal and,
/// in turns, the content of a part, in this form again, and the next literal. Each is preceded by its length,
/// in groups of seven bits, the lowest first, with the highest bit set in all but the last.
package enum UnfoldedText {
  private static let mark: UInt8 = 0
  /// The most bytes by which the form can be longer: a zero byte and one length. A part saves more than its lengths.
  static let overheadByteCountMax = 8
  /// Shorter parts gain nothing.
  private static let partByteCountMin = 64
  /// A notification of the App Store has two levels: its payload, and what is signed in the payload.
  private static let depthMax = 4

  // MARK: there

  package static func unfold(_ text: [UInt8]) -> [UInt8] { unfold(text, depth: 0) }

  private static func unfold(_ text: [UInt8], depth: Int) -> [UInt8] {
    var unfolded: [UInt8] = []
    var end = 0
    while depth < depthMax, let part = nextPart(of: text, from: end) {
      if unfolded.isEmpty {
        unfolded.reserveCapacity(text.count)
        unfolded.append(mark)
      }
      append(text[end..<part.place.lowerBound], to: &unfolded)
      append(unfold(part.content, depth: depth + 1)[...], to: &unfolded)
      end = part.place.upperBound
    }
    if unfolded.isEmpty {
      if text.first != mark { return text }
      unfolded.append(mark)
    }
    append(text[end...], to: &unfolded)
    return unfolded
  }

  /// The next place that looks like JSON in base64url, cut to whole groups of four letters.
  private static func nextPart(
    of text: [UInt8], from start: Int
  ) -> (place: Range<Int>, content: [UInt8])? {
    // `{"` is encoded as eyJ, whatever follows. Of these letters the J is rare in other texts.
    var start = start + 2
    while let last = index(of: UInt8(ascii: "J"), in: text, from: start) {
      start = last + 1
      guard text[last - 2] == UInt8(ascii: "e"), text[last - 1] == UInt8(ascii: "y") else {
        continue
      }
      let count = Base64.url.letterCount(of: text, from: last - 2)
      let place = (last - 2)..<(last - 2 + count - count % 4)
      if place.count >= partByteCountMin, let content = Base64.url.decode(text[place]) {
        return (place, content)
      }
      start = max(start, last - 2 + count)
    }
    return nil
  }

  private static func index(of byte: UInt8, in text: [UInt8], from start: Int) -> Int? {
    guard start < text.count else { return nil }
    return unsafe text.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress,
        let found = unsafe memchr(base + start, Int32(byte), bytes.count - start)
      else { return nil }
      return unsafe UnsafeRawPointer(found) - base
    }
  }

  private static func append(_ bytes: ArraySlice<UInt8>, to unfolded: inout [UInt8]) {
    var count = bytes.count
    while count > 127 {
      unfolded.append(UInt8(count & 127) | 128)
      count >>= 7
    }
    unfolded.append(UInt8(count))
    unfolded += bytes
  }

  // MARK: and back

  package static func fold(
    _ unfolded: [UInt8], byteCountMax: Int
  ) throws(CompressionError) -> [UInt8] {
    try fold(unfolded[...], byteCountMax: byteCountMax, depth: 0)
  }

  private static func fold(
    _ unfolded: ArraySlice<UInt8>, byteCountMax: Int, depth: Int
  ) throws(CompressionError) -> [UInt8] {
    guard unfolded.first == mark else {
      guard unfolded.count <= byteCountMax else { throw .tooLong }
      return Array(unfolded)
    }
    guard depth <= depthMax else { throw .malformed }
    var rest = unfolded.dropFirst()
    var text = Array(try next(&rest))
    while !rest.isEmpty {
      let part = try fold(next(&rest), byteCountMax: byteCountMax, depth: depth + 1)
      guard part.count.isMultiple(of: 3) else { throw .malformed }
      text += Base64.url.encode(part).utf8
      text += try next(&rest)
      guard text.count <= byteCountMax else { throw .tooLong }
    }
    guard text.count <= byteCountMax else { throw .tooLong }
    return text
  }

  private static func next(
    _ rest: inout ArraySlice<UInt8>
  ) throws(CompressionError) -> ArraySlice<UInt8> {
    var count = 0
    var shift = 0
    while true {
      guard let byte = rest.popFirst(), shift < 42 else { throw .malformed }
      count |= Int(byte & 127) << shift
      if byte < 128 { break }
      shift += 7
    }
    guard count <= rest.count else { throw .malformed }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
