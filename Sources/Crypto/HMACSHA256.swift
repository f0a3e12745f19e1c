package import Base
import COpenSSL

/// HMAC with SHA-256 (RFC 2104): proves that the sender of a message holds the key.
///
/// Compare codes only with `constantTimeEqual`. A code does not prove when the message was made.
package enum HMACSHA256 {
  package static let byteCount = 32

  /// The code of the concatenated parts.
  package static func code(key: Secret, _ parts: [UInt8]...) -> [UInt8] {
    let template = MACTemplate.hmacSHA256
    guard let context = unsafe EVP_MAC_CTX_dup(template.context) else {
      preconditionFailure("OpenSSL has no memory for a code")
    }
    defer { unsafe EVP_MAC_CTX_free(context) }
    // A null key would mean "the previous key", so an empty one still needs an address.
    let bytes = key.exposed.isEmpty ? [0] : key.exposed
    var succeeds = unsafe EVP_MAC_init(context, bytes, key.exposed.count, nil) == 1
    for part in parts {
      succeeds = unsafe succeeds && EVP_MAC_update(context, part, part.count) == 1
    }
    var code = [UInt8](repeating: 0, count: byteCount)
    succeeds = unsafe succeeds && EVP_MAC_final(context, &code, nil, code.count) == 1
    precondition(succeeds, "OpenSSL could not compute a code: out of memory")
    return code
  }
}

/// An HMAC context with its digest chosen and no key yet. It is copied for every message.
@safe
private final class MACTemplate: @unchecked Sendable {
  static let hmacSHA256 = MACTemplate(digest: "SHA256")

  let context: OpaquePointer

  private init(digest: String) {
    let mac = unsafe EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
    defer { unsafe EVP_MAC_free(mac) }
    guard let context = unsafe EVP_MAC_CTX_new(mac) else {
      preconditionFailure("OpenSSL has no HMAC")
    }
    let code = unsafe coffer_mac_set_digest(context, digest)
    precondition(code == 1, "OpenSSL has no \(digest) for HMAC")
    unsafe self.context = context
  }
}
