/// MD5 (RFC 1321) of bytes that arrive in parts: 16 bytes. It tells of bytes that changed by accident, not of bytes that
/// someone changed. For one thread at a time; unusable after `finalize`.
package final class MD5Stream {
  private let state = DigestState(.md5)

  package init() {}

  package func update(_ bytes: RawSpan) { state.update(bytes) }
  package func finalize() -> [UInt8] { state.finalize() }
}
