import CZstd

/// The common parts of texts of one kind, as `zstd --train` found them, digested once.
@safe
final class CompressionDictionary: @unchecked Sendable {
  /// The number in every frame that was made with this dictionary (RFC 8878, section 3.1.1.1.3).
  let number: UInt32
  let compressing: OpaquePointer
  let decompressing: OpaquePointer

  init(_ bytes: [UInt8], level: Int32) {
    number = unsafe ZSTD_getDictID_fromDict(bytes, bytes.count)
    precondition(number != 0, "a dictionary has no number")
    guard let compressing = unsafe ZSTD_createCDict(bytes, bytes.count, level),
      let decompressing = unsafe ZSTD_createDDict(bytes, bytes.count)
    else { preconditionFailure("zstd took no dictionary \(number)") }
    unsafe self.compressing = compressing
    unsafe self.decompressing = decompressing
  }

  deinit {
    unsafe ZSTD_freeCDict(compressing)
    unsafe ZSTD_freeDDict(decompressing)
  }
}
