import CZstd

/// Compresses texts of one kind with Zstandard (RFC 8878), after decoding the base64url in them (`UnfoldedText`).
///
/// A text that was compressed with a dictionary can only be read with it: add new ones at the end, and remove none.
package final class Compressor: Sendable {
  /// For texts about which nothing is known.
  package static let plain = Compressor(dictionaries: [])

  /// For short texts with a dictionary, higher levels gain little and cost several times as much.
  private static let level: Int32 = 3
  /// The beginning of every frame (RFC 8878, section 3.1.1).
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  private let dictionaries: [CompressionDictionary]

  /// Takes files that `zstd --train` made. The last one compresses; each opens what it compressed.
  package init(dictionaries: [[UInt8]]) {
    self.dictionaries = dictionaries.map { CompressionDictionary($0, level: Self.level) }
    precondition(
      Set(self.dictionaries.map(\.number)).count == dictionaries.count,
      "two dictionaries have one number")
  }

  /// Whether the bytes begin like a compressed text.
  package static func isCompressed(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  package func compress(_ text: [UInt8]) -> [UInt8] {
    CompressionContext.compress(UnfoldedText.unfold(text), level: Self.level, dictionaries.last)
  }

  /// The text that was compressed. Its length is checked before anything is allocated for it.
  package func decompress(_ frame: [UInt8], byteCountMax: Int) throws(CompressionError) -> [UInt8] {
    guard Self.isCompressed(frame) else { throw .malformed }
    let count = unsafe ZSTD_getFrameContentSize(frame, frame.count)
    // The two largest values mean that the length is unknown, or that this is not a frame.
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

  private static func content(
    of frame: [UInt8], byteCount: Int, _ dictionary: CompressionDictionary?
  ) -> [UInt8]? {
    guard let context = unsafe ZSTD_createDCtx() else {
      preconditionFailure("zstd has no memory for a context")
    }
    defer { unsafe ZSTD_freeDCtx(context) }
    var isWhole = false
    // Without room the array would be the one that all empty arrays share, and its count is written.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(1, byteCount)) { output, count in
      let code = unsafe ZSTD_decompress_usingDDict(
        context, output.baseAddress, byteCount, frame, frame.count, dictionary?.decompressing)
      isWhole = code == byteCount
      count = isWhole ? byteCount : 0
    }
    return isWhole ? bytes : nil
  }
}
