package import Base
import COpenSSL

/// The private half of an Ed25519 key pair (RFC 8032), for clients, the CLI and tests.
package final class Ed25519PrivateKey: Sendable {
  /// The 32 bytes from which everything else is derived.
  package let seed: Secret
  package let publicKey: Ed25519PublicKey
  private let key: KeyHandle

  /// Creates a new random key.
  package convenience init() { self.init(seed: Secret(Random.bytes(32)))! }

  /// Nil unless the seed has 32 bytes.
  package init?(seed: Secret) {
    guard seed.exposed.count == 32 else { return nil }
    let key = unsafe KeyHandle(
      owning: EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed.exposed, 32))
    var bytes = [UInt8](repeating: 0, count: Ed25519PublicKey.byteCount)
    var count = bytes.count
    guard unsafe EVP_PKEY_get_raw_public_key(key.handle, &bytes, &count) == 1,
      let publicKey = Ed25519PublicKey(bytes: bytes)
    else { return nil }
    self.seed = seed
    self.publicKey = publicKey
    self.key = key
  }

  /// The signature, 64 bytes. The same message always has the same signature.
  package func signature(for message: [UInt8]) -> [UInt8] {
    let context = DigestContext()
    var signature = [UInt8](repeating: 0, count: Ed25519PublicKey.signatureByteCount)
    var count = signature.count
    guard unsafe EVP_DigestSignInit(context.handle, nil, nil, nil, key.handle) == 1,
      unsafe EVP_DigestSign(context.handle, &signature, &count, message, message.count) == 1
    else { preconditionFailure("OpenSSL could not sign: out of memory") }
    return signature
  }
}
