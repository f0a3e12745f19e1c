internal import CZstd

/// Makes texts of one kind short and gives them back: Zstandard (RFC 8878), after what is base64url in
/// them was taken out of it (`UnfoldedText`).
///
/// A dictionary holds what such texts have in common. What was compressed with one can be read as long
/// as the dictionary is there: add new ones at the end, take none away.
package final class Compressor: Sendable {
  /// For texts of which nothing is known.
  package static let plain = Compressor(dictionaries: [])

  /// Among short texts with a dictionary the dearer levels gain little and cost several times as much.
  private static let level: Int32 = 3
  /// RFC 8878, section 3.1.1: what every frame begins with.
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  private let dictionaries: [CompressionDictionary]

  /// Files as `zstd --train` makes them. The last one compresses, each opens what it compressed.
  package init(dictionaries: [[UInt8]]) {
    self.dictionaries = dictionaries.map { CompressionDictionary($0, level: Self.level) }
    precondition(
      Set(self.dictionaries.map(\.number)).count == dictionaries.count,
      "two dictionaries have one number")
  }

  /// Whether bytes begin like something compressed.
  package static func isCompressed(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  package func compress(_ text: [UInt8]) -> [UInt8] {
    CompressionContext.compress(
      UnfoldedText.unfold(text), level: Self.level, dictionaries.last)
  }

  /// The text that was compressed. Its length is known before anything is allocated for it.
  package func decompress(
    _ frame: [UInt8], byteCountMax: Int
  ) throws(CompressionError) -> [UInt8] {
    guard Self.isCompressed(frame) else { throw .malformed }
    let count = unsafe ZSTD_getFrameContentSize(frame, frame.count)
    // Its last two values say that the length is unknown, or that this is no frame.
    guard count < .max - 1 else { throw .malformed }
    guard count <= byteCountMax + UnfoldedText.overheadByteCountMax else { throw .tooLong }
    let number = unsafe ZSTD_getDictID_fromFrame(frame, frame.count)
    let dictionary = dictionaries.first { $0.number == number }
    guard number == 0 || dictionary != nil else { throw .unknownDictionary(number) }
    guard let unfolded = Self.content(of: frame, byteCount: Int(count), dictionary) else {
      throw .malformed
    }
    return try UnfoldedText.fold(unfolded, byteCountMax: byteCountMax)
  }

  /// Nil for what is no whole frame.
  private static func content(
    of frame: [UInt8], byteCount: Int, _ dictionary: CompressionDictionary?
  ) -> [UInt8]? {
    guard let context = unsafe ZSTD_createDCtx() else {
      preconditionFailure("zstd has no memory for a context")
    }
    defer { unsafe ZSTD_freeDCtx(context) }
    var isWhole = false
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
      let code = unsafe ZSTD_decompress_usingDDict(
        context, output.baseAddress, byteCount, frame, frame.count, dictionary?.decompressing)
      isWhole = code == byteCount
      count = isWhole ? byteCount : 0
    }
    return isWhole ? bytes : nil
  }
}
