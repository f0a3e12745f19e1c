package import Base
import COpenSSL

/// The private half of a P-256 key pair. It signs tokens for providers' APIs, and forged messages in tests.
package final class P256PrivateKey: Sendable {
  package let publicKey: P256PublicKey
  private let key: KeyHandle

  /// Creates a new random key.
  package init() {
    key = unsafe KeyHandle(owning: coffer_generate_p256_key())
    publicKey = P256PublicKey(key)!
  }

  /// Reads an unencrypted PEM text, PKCS #8 or SEC 1; nil for other keys and other texts.
  package init?(pem: Secret) {
    guard let key = KeyHandle(pem: pem), let publicKey = P256PublicKey(key) else { return nil }
    self.key = key
    self.publicKey = publicKey
  }

  /// The key as unencrypted PKCS #8.
  package var pem: Secret { key.pem() }

  /// ECDSA with SHA-256: r and s, 32 bytes each. Every call returns a different signature.
  package func signature(for message: [UInt8]) -> [UInt8] {
    Self.raw(key.signature(for: message, byteCountMax: 80))
  }

  /// The two numbers of a DER signature that OpenSSL wrote, each below 2^256.
  private static func raw(_ der: [UInt8]) -> [UInt8] {
    var raw: [UInt8] = []
    var index = 2
    for _ in 0..<2 {
      let count = Int(der[index + 1])
      let digits = der[(index + 2)..<(index + 2 + count)].drop { $0 == 0 }
      raw += [UInt8](repeating: 0, count: 32 - digits.count) + digits
      index += 2 + count
    }
    return raw
  }
}
