package import Base
import COpenSSL

/// The keys that seal bytes at rest with AES-256-GCM (NIST SP 800-38D). Without a key no one can read or alter them.
///
/// To rotate, give every instance the new key after the others, then move it to the front. Drop an old key once nothing
/// sealed with it is left. Opening needs the same context, so that sealed bytes cannot be moved. Nonces are random, so
/// a key may seal at most 2^32 times (section 8.3).
///
/// Sealed form: version 1 (1 byte), key id (4), nonce (12), ciphertext, tag (16). The first two are authenticated
/// together with the context.
package struct SealingKeys: Sendable {
  private struct Key: Sendable {
    let id: [UInt8]
    let secret: Secret
  }

  private static let version: UInt8 = 1
  private static let keyByteCount = 32
  private static let idByteCount = 4
  private static let nonceByteCount = 12
  private static let tagByteCount = 16
  /// The number of bytes at the beginning of sealed bytes that identify the key.
  package static let prefixByteCount = 1 + idByteCount
  /// The number of bytes by which sealed bytes are longer than plain ones.
  package static let overheadByteCount = prefixByteCount + nonceByteCount + tagByteCount

  private var keys: [Key]

  /// The first key seals; every key opens. Each has 32 bytes.
  package init(_ keys: [Secret]) throws(CryptoError) {
    guard !keys.isEmpty else { throw .keyMissing }
    guard keys.allSatisfy({ $0.exposed.count == Self.keyByteCount }) else { throw .keyLength }
    self.keys = keys.map { secret in
      let label = Array("coffer sealing key id".utf8)
      return Key(
        id: Array(HMACSHA256.code(key: secret, label).prefix(Self.idByteCount)), secret: secret)
    }
  }

  /// The index of the key that sealed bytes with this beginning; nil if none of these keys did.
  package func index(ofSealed prefix: [UInt8]) -> Int? {
    guard prefix.count >= Self.prefixByteCount, prefix[0] == Self.version else { return nil }
    let id = Array(prefix[1..<Self.prefixByteCount])
    return keys.firstIndex { $0.id == id }
  }

  /// The same keys, with the one at `index` as the sealing key.
  package func sealing(by index: Int) -> SealingKeys {
    var keys = self
    keys.keys.insert(keys.keys.remove(at: index), at: 0)
    return keys
  }

  package func seal(_ plain: [UInt8], context: [UInt8]) -> [UInt8] {
    let key = keys[0]
    let header = [Self.version] + key.id
    let nonce = Random.bytes(Self.nonceByteCount)
    let cipher = CipherContext(encrypts: true, key: key.secret.exposed, nonce: nonce)
    cipher.authenticate(header)
    cipher.authenticate(context)
    let ciphertext = cipher.transform(plain)
    let tag = cipher.tag(byteCount: Self.tagByteCount)
    return header + nonce + ciphertext + tag
  }

  /// The beginning of everything that the first key has sealed.
  package var newestHeader: [UInt8] { [Self.version] + keys[0].id }

  package func open(_ sealed: [UInt8], context: [UInt8]) throws(CryptoError) -> [UInt8] {
    guard sealed.count >= Self.overheadByteCount, sealed[0] == Self.version else {
      throw .malformed
    }
    let header = Array(sealed[..<Self.prefixByteCount])
    let id = Array(header.dropFirst())
    let candidates = keys.filter { $0.id == id }
    guard !candidates.isEmpty else { throw .unknownKey }
    let body = sealed[Self.prefixByteCount...]
    let nonce = Array(body.prefix(Self.nonceByteCount))
    let ciphertext = Array(body.dropFirst(Self.nonceByteCount).dropLast(Self.tagByteCount))
    let tag = Array(body.suffix(Self.tagByteCount))
    for key in candidates {
      let cipher = CipherContext(encrypts: false, key: key.secret.exposed, nonce: nonce)
      cipher.authenticate(header)
      cipher.authenticate(context)
      let plain = cipher.transform(ciphertext)
      if cipher.accepts(tag: tag) { return plain }
    }
    throw .notAuthentic
  }
}
