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

  /// Reads a DER SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7); nil for anything else.
  convenience init?(publicKeyInfo info: [UInt8]) {
    let handle = unsafe info.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var cursor = buffer.baseAddress
      return unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
    }
    unsafe self.init(parsed: handle)
  }

  /// A signature with SHA-256, in the form that OpenSSL gives to those of the key's kind.
  func signature(for message: [UInt8], byteCountMax: Int) -> [UInt8] {
    let context = DigestContext()
    var signature = [UInt8](repeating: 0, count: byteCountMax)
    var count = signature.count
    let digest = "SHA256"
    guard unsafe EVP_DigestSignInit_ex(context.handle, nil, digest, nil, nil, handle, nil) == 1,
      unsafe EVP_DigestSign(context.handle, &signature, &count, message, message.count) == 1
    else { preconditionFailure("OpenSSL could not sign: out of memory") }
    return Array(signature[..<count])
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
