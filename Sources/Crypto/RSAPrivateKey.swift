package import Base
import COpenSSL

/// The private half of an RSA key pair. It signs assertions for Google's APIs, and tokens in tests.
package final class RSAPrivateKey: Sendable {
  package let publicKey: RSAPublicKey
  private let key: KeyHandle

  /// Creates a new random key of 2048 bits, in about a tenth of a second.
  package convenience init() {
    self.init(unsafe KeyHandle(owning: coffer_generate_rsa_key(2048)))!
  }

  /// Reads an unencrypted PEM text, PKCS #8 or PKCS #1; nil for other keys and other texts.
  package convenience init?(pem: Secret) {
    guard let key = KeyHandle(pem: pem) else { return nil }
    self.init(key)
  }

  private init?(_ key: KeyHandle) {
    guard let modulus = Self.number("n", of: key), let exponent = Self.number("e", of: key),
      let publicKey = RSAPublicKey(modulus: modulus, exponent: exponent)
    else { return nil }
    self.publicKey = publicKey
    self.key = key
  }

  /// The key as unencrypted PKCS #8.
  package var pem: Secret { key.pem() }

  /// RSASSA-PKCS1-v1_5 with SHA-256. The same message always has the same signature.
  package func signature(for message: [UInt8]) -> [UInt8] {
    key.signature(for: message, byteCountMax: publicKey.modulus.count)
  }

  /// Nil if the key is of another kind, which has no such number.
  private static func number(_ name: String, of key: KeyHandle) -> [UInt8]? {
    var number: OpaquePointer?
    guard unsafe EVP_PKEY_get_bn_param(key.handle, name, &number) == 1 else {
      ERR_clear_error()
      return nil
    }
    defer { unsafe BN_free(number) }
    var bytes = [UInt8](repeating: 0, count: Int(unsafe BN_num_bits(number) + 7) / 8)
    unsafe BN_bn2bin(number, &bytes)
    return bytes
  }
}
