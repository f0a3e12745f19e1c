import COpenSSL

/// SHA-256 of content that arrives in parts, perhaps to several processes. Its state can be stored between two parts.
package struct ResumableSHA256: Sendable {
  private var context = SHA256_CTX()

  package init() {
    let code = unsafe coffer_sha256_begin(&context)
    precondition(code == 1, "OpenSSL could not start a digest")
  }

  /// Continues from `state`; nil if the bytes are not such a state.
  package init?(_ state: [UInt8]) {
    guard state.count == MemoryLayout<SHA256_CTX>.size else { return nil }
    unsafe withUnsafeMutableBytes(of: &context) { unsafe $0.copyBytes(from: state) }
    // OpenSSL would write beyond its buffer at any other value.
    guard context.num < 64, context.md_len == 32 else { return nil }
  }

  /// The state after the bytes given so far: 112 bytes, which only a machine of the same byte order can read.
  package var state: [UInt8] { unsafe withUnsafeBytes(of: context) { unsafe Array($0) } }

  package mutating func update(_ bytes: RawSpan) {
    let code = unsafe bytes.withUnsafeBytes { buffer in
      unsafe coffer_sha256_update(&context, buffer.baseAddress, buffer.count)
    }
    precondition(code == 1, "OpenSSL could not update a digest")
  }

  /// The digest of the bytes given so far. More may follow.
  package var digest: [UInt8] {
    var (copy, digest) = (context, [UInt8](repeating: 0, count: 32))
    let code = unsafe coffer_sha256_end(&digest, &copy)
    precondition(code == 1, "OpenSSL could not end a digest")
    return digest
  }
}
