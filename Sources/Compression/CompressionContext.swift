import Base
import CZstd

/// The tables that one compression fills: expensive to make, so they are used again.
@safe
final class CompressionContext: @unchecked Sendable {
  private static let idle = Locked<[CompressionContext]>([])

  private let handle: OpaquePointer

  private init() {
    guard let handle = unsafe ZSTD_createCCtx() else {
      preconditionFailure("zstd has no memory for a context")
    }
    unsafe self.handle = handle
  }

  deinit { unsafe ZSTD_freeCCtx(handle) }

  /// Returns one frame with its content's length, and its dictionary's number if it has one.
  static func compress(
    _ bytes: [UInt8], level: Int32, _ dictionary: CompressionDictionary?
  ) -> [UInt8] {
    let context = idle.withLock { $0.popLast() } ?? CompressionContext()
    defer { idle.withLock { $0.append(context) } }
    let capacity = ZSTD_compressBound(bytes.count)
    return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
      if let dictionary {
        unsafe count = ZSTD_compress_usingCDict(
          context.handle, output.baseAddress, capacity, bytes, bytes.count, dictionary.compressing)
      } else {
        unsafe count = ZSTD_compressCCtx(
          context.handle, output.baseAddress, capacity, bytes, bytes.count, level)
      }
      precondition(ZSTD_isError(count) == 0, "zstd has no memory to compress")
    }
  }
}
