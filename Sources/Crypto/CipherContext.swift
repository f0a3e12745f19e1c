import COpenSSL

/// One AES-256-GCM operation: associated data, then the text, then the tag.
@safe
struct CipherContext: ~Copyable {
  private let handle: OpaquePointer

  init(encrypts: Bool, key: [UInt8], nonce: [UInt8]) {
    guard let handle = unsafe EVP_CIPHER_CTX_new() else {
      preconditionFailure("OpenSSL has no memory for a cipher")
    }
    unsafe self.handle = handle
    let cipher = unsafe Cipher.aes256GCM.handle
    let code = unsafe EVP_CipherInit_ex2(handle, cipher, key, nonce, encrypts ? 1 : 0, nil)
    precondition(code == 1, "OpenSSL took no AES-256-GCM key")
  }

  deinit { unsafe EVP_CIPHER_CTX_free(handle) }

  /// Adds associated data. Call it before `transform`.
  func authenticate(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    var count: Int32 = 0
    let code = unsafe EVP_CipherUpdate(handle, nil, &count, bytes, Int32(bytes.count))
    precondition(code == 1, "OpenSSL took no associated data")
  }

  /// Encrypts or decrypts everything at once. Decrypted bytes must not be used until `accepts(tag:)` returns true.
  func transform(_ bytes: [UInt8]) -> [UInt8] {
    guard !bytes.isEmpty else { return [] }
    var output = [UInt8](repeating: 0, count: bytes.count)
    var count: Int32 = 0
    let code = unsafe EVP_CipherUpdate(handle, &output, &count, bytes, Int32(bytes.count))
    precondition(code == 1 && Int(count) == bytes.count, "OpenSSL transformed no text")
    return output
  }

  func tag(byteCount: Int) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: byteCount)
    guard finish(),
      unsafe EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_GET_TAG, Int32(byteCount), &tag) == 1
    else { preconditionFailure("OpenSSL gave no tag") }
    return tag
  }

  /// Ends a decryption. Returns whether text, associated data and tag belong together.
  func accepts(tag: [UInt8]) -> Bool {
    var tag = tag
    let count = Int32(tag.count)
    guard unsafe EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_SET_TAG, count, &tag) == 1, finish()
    else {
      ERR_clear_error()
      return false
    }
    return true
  }

  /// GCM writes nothing at its end, but OpenSSL needs a buffer for a block.
  private func finish() -> Bool {
    var block = [UInt8](repeating: 0, count: 16)
    var count: Int32 = 0
    return unsafe EVP_CipherFinal_ex(handle, &block, &count) == 1
  }

  @safe
  private final class Cipher: @unchecked Sendable {
    static let aes256GCM = Cipher("AES-256-GCM")

    let handle: OpaquePointer

    private init(_ name: String) {
      guard let handle = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
        preconditionFailure("OpenSSL has no \(name)")
      }
      unsafe self.handle = handle
    }
  }
}
