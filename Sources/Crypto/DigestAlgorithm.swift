import COpenSSL

/// One of OpenSSL's digests, looked up once: in OpenSSL 3.0 each look-up takes microseconds.
@safe
final class DigestAlgorithm: @unchecked Sendable {
  static let sha256 = DigestAlgorithm("SHA256", byteCount: 32)
  static let sha512 = DigestAlgorithm("SHA512", byteCount: 64)
  static let md5 = DigestAlgorithm("MD5", byteCount: 16)

  let handle: OpaquePointer
  let byteCount: Int

  private init(_ name: String, byteCount: Int) {
    guard let handle = unsafe EVP_MD_fetch(nil, name, nil) else {
      preconditionFailure("OpenSSL has no \(name)")
    }
    unsafe self.handle = handle
    self.byteCount = byteCount
  }

  func hash(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    let code = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, handle, nil)
    precondition(code == 1, "OpenSSL could not compute a digest: out of memory")
    return digest
  }
}

/// A digest of bytes that arrive in parts. For one thread at a time; unusable after `finalize`.
@safe
package class DigestStream {
  private let algorithm: DigestAlgorithm
  private let context: OpaquePointer
  private var isFinal = false

  init(_ algorithm: DigestAlgorithm) {
    guard let context = unsafe EVP_MD_CTX_new() else {
      preconditionFailure("OpenSSL has no memory for a digest")
    }
    self.algorithm = algorithm
    unsafe self.context = context
    let code = unsafe EVP_DigestInit_ex2(context, algorithm.handle, nil)
    precondition(code == 1, "OpenSSL could not start a digest")
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  package final func update(_ bytes: RawSpan) {
    precondition(!isFinal, "a digest takes no input after its end")
    let code = unsafe bytes.withUnsafeBytes { buffer in
      unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
    precondition(code == 1, "OpenSSL could not update a digest")
  }

  package final func finalize() -> [UInt8] {
    precondition(!isFinal, "a digest ends once")
    isFinal = true
    var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
    let code = unsafe EVP_DigestFinal_ex(context, &digest, nil)
    precondition(code == 1, "OpenSSL could not end a digest")
    return digest
  }
}
