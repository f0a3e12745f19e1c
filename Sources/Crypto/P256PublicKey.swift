/// The public half of a P-256 key pair (FIPS 186-5), which checks ECDSA signatures with SHA-256.
///
/// The parsed key is kept, because parsing it costs a third as much as a check.
package final class P256PublicKey: Sendable {
  /// One byte for the form, then both coordinates.
  package static let byteCount = 65
  /// The numbers r and s, 32 bytes each, as in JWS (RFC 7518, section 3.4).
  package static let signatureByteCount = 64

  /// The uncompressed point (SEC 1, section 2.3.3).
  package let x963: [UInt8]
  private let key: KeyHandle
  private let verification: SignatureVerification

  /// Nil unless the bytes are an uncompressed point of the curve.
  package convenience init?(x963: [UInt8]) {
    guard x963.count == Self.byteCount, x963.first == 4,
      let key = KeyHandle(publicKeyInfo: Self.infoPrefix + x963)
    else { return nil }
    self.init(key)
  }

  /// Nil for a key of any other kind or curve.
  init?(_ key: KeyHandle) {
    let info = key.publicKeyInfo()
    guard info.count == Self.infoPrefix.count + Self.byteCount, info.starts(with: Self.infoPrefix),
      info[Self.infoPrefix.count] == 4
    else { return nil }
    x963 = Array(info[Self.infoPrefix.count...])
    self.key = key
    verification = SignatureVerification(key)
  }

  /// Whether the bytes have the form of a signature: neither number is zero (FIPS 186-5, section 6.4.2).
  package static func canBeSignature(_ bytes: [UInt8]) -> Bool {
    bytes.count == signatureByteCount && bytes[..<32].contains { $0 != 0 }
      && bytes[32...].contains { $0 != 0 }
  }

  /// Whether the holder of the private half signed exactly this message.
  package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard Self.canBeSignature(signature) else { return false }
    let numbers = derInteger(signature[..<32]) + derInteger(signature[32...])
    let der = [0x30, UInt8(numbers.count)] + numbers
    return verification.accepts(signature: der, digest: SHA256.hash(message))
  }

  /// Everything before the point in the SubjectPublicKeyInfo of such a key (RFC 5480, section 2).
  private static let infoPrefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A,
    0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
  ]
}

/// A positive number in DER: no leading zeros except one that keeps it positive.
private func derInteger(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
  let digits = bytes.drop { $0 == 0 }
  let sign: [UInt8] = digits.first.map { $0 >= 0x80 } ?? true ? [0] : []
  return [0x02, UInt8(sign.count + digits.count)] + sign + digits
}
