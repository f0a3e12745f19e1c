/// The public half of an RSA key pair (RFC 8017), which checks PKCS #1 v1.5 signatures with SHA-256.
///
/// The parsed key is kept: key sets are read rarely, signatures are checked all the time.
package final class RSAPublicKey: Sendable {
  /// The bits of a modulus: fewer are not safe (NIST SP 800-131A), more only cost time.
  package static let bitCounts = 2048...8192

  /// The modulus, most significant byte first, without leading zeros, as in JWK's `n`.
  package let modulus: [UInt8]
  /// The exponent, as in JWK's `e`.
  package let exponent: [UInt8]
  private let verification: SignatureVerification

  /// Nil unless both are odd, the modulus has an accepted size, and the exponent 17 to 32 bits (FIPS 186-5, A.1.1).
  package init?(modulus: [UInt8], exponent: [UInt8]) {
    let modulus = Array(modulus.drop { $0 == 0 })
    let exponent = Array(exponent.drop { $0 == 0 })
    guard let first = modulus.first, let last = modulus.last, last & 1 == 1,
      modulus.count <= Self.bitCounts.upperBound / 8,
      Self.bitCounts.contains(modulus.count * 8 - first.leadingZeroBitCount),
      (3...4).contains(exponent.count), exponent[exponent.count - 1] & 1 == 1,
      let key = KeyHandle(publicKeyInfo: Self.keyInfo(modulus, exponent))
    else { return nil }
    self.modulus = modulus
    self.exponent = exponent
    verification = SignatureVerification(key)
  }

  /// Whether the holder of the private half signed exactly this message.
  package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard signature.count == modulus.count else { return false }
    return verification.accepts(signature: signature, digest: SHA256.hash(message))
  }

  /// The SubjectPublicKeyInfo of such a key (RFC 3279, section 2.3.1).
  private static func keyInfo(_ modulus: [UInt8], _ exponent: [UInt8]) -> [UInt8] {
    let key = der(0x30, integer(modulus) + integer(exponent))
    return der(0x30, rsaEncryption + der(0x03, [0] + key))
  }

  private static let rsaEncryption: [UInt8] = [
    0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]

  private static func integer(_ digits: [UInt8]) -> [UInt8] {
    der(0x02, digits[0] >= 0x80 ? [0] + digits : digits)
  }

  private static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let (high, low) = (UInt8(count >> 8), UInt8(count & 0xFF))
    let length = count < 0x80 ? [low] : count < 0x100 ? [0x81, low] : [0x82, high, low]
    return [tag] + length + content
  }
}
