internal import Glibc

/// An open file that closes itself when the last holder lets go.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  package let byteCount: Int64

  /// Takes over `descriptor`.
  package init(owning descriptor: Int32, byteCount: Int64) {
    self.descriptor = descriptor
    self.byteCount = byteCount
  }

  deinit { close(descriptor) }
}
