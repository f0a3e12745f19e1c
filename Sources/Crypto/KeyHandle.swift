import Base
import COpenSSL

/// Owns one OpenSSL key. Several threads may read it; nothing here changes it.
@safe
final class KeyHandle: @unchecked Sendable {
  let handle: OpaquePointer

  init(owning handle: OpaquePointer?) {
    guard let handle = unsafe handle else { preconditionFailure("OpenSSL took no raw key") }
    unsafe self.handle = handle
  }

  /// Nil if OpenSSL could not read a key from outside input.
  init?(parsed handle: OpaquePointer?) {
    guard let handle = unsafe handle else {
      ERR_clear_error()
      return nil
    }
    unsafe self.handle = handle
  }

  deinit { unsafe EVP_PKEY_free(handle) }

  /// Reads an unencrypted private key; nil for anything else.
  convenience init?(pem: Secret) {
    let text = pem.exposed
    guard text.count <= 1 << 16 else { return nil }
    // OpenSSL does not copy the text, so it must stay in place until the key is made.
    let handle = unsafe text.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let input = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
        return nil
      }
      defer { unsafe BIO_free(input) }
      // Without this callback OpenSSL would ask on the terminal for an encrypted key's password.
      return unsafe PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
    }
    unsafe self.init(parsed: handle)
  }

  /// The private key as unencrypted PKCS #8 in PEM (RFC 7468, section 10).
  func pem() -> Secret {
    guard let output = unsafe BIO_new(BIO_s_secmem()) else {
      preconditionFailure("OpenSSL has no memory for a key's text")
    }
    defer { unsafe BIO_free(output) }
    let code = unsafe PEM_write_bio_PKCS8PrivateKey(output, handle, nil, nil, 0, nil, nil)
    precondition(code == 1, "OpenSSL could not write a private key")
    var text = [UInt8](repeating: 0, count: 1 << 14)
    let count = unsafe BIO_read(output, &text, Int32(text.count))
    precondition(count > 0 && Int(count) < text.count, "a private key's text is too long")
    return Secret(Array(text[..<Int(count)]))
  }

  /// The public half as a DER SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
  func publicKeyInfo() -> [UInt8] {
    let count = unsafe i2d_PUBKEY(handle, nil)
    precondition(count > 0, "OpenSSL could not write a public key")
    var bytes = [UInt8](repeating: 0, count: Int(count))
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      unsafe i2d_PUBKEY(handle, &cursor)
    }
    return bytes
  }
}
