import Base
import Glibc

/// Creates random 128-bit ids for requests, many from one call to the kernel.
final class RequestIDs: Sendable {
  private static let byteCount = 16
  private let pool = Locked<[UInt8]>([])

  func next() -> String {
    Hex.encode(
      pool.withLock { pool in
        if pool.isEmpty { pool = Self.randomBytes() }
        let id = Array(pool.suffix(Self.byteCount))
        pool.removeLast(Self.byteCount)
        return id
      })
  }

  private static func randomBytes() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 256)
    let code = unsafe getentropy(&bytes, bytes.count)
    precondition(code == 0, "the kernel has no random bytes: error \(errno)")
    return bytes
  }
}
