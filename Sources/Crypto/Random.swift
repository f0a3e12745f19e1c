package import Base
import COpenSSL

/// Unpredictable bytes from OpenSSL's generator.
package enum Random {
  package static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard count > 0 else { return bytes }
    // Without randomness every nonce and key could be guessed, so the program must not continue.
    let code = unsafe RAND_bytes(&bytes, Int32(count))
    precondition(code == 1, "the system gives no randomness")
    return bytes
  }

  /// A UUID of version 4 (RFC 9562, section 5.4): 122 random bits.
  package static func identifier() -> Identifier {
    var bytes = bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Identifier(bytes: bytes)!
  }
}

/// The same source as a generator, for Swift's random functions.
package struct RandomSource: RandomNumberGenerator {
  package init() {}

  package mutating func next() -> UInt64 {
    Random.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
