import CMicrohttpd
import Glibc

/// Wakes a thread that polls: an eventfd that is readable from `ring` to `hear`.
final class Bell: Sendable {
  let descriptor: Int32

  init?() {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  func ring() { eventfd_write(descriptor, 1) }

  func hear() {
    var count = eventfd_t()
    unsafe eventfd_read(descriptor, &count)
  }
}
