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

  /// Waits for a ring, or for input at `other`, at most for `milliseconds`; -1 waits for ever. Returns whether it rang.
  func wait(or other: Int32, for milliseconds: Int32) -> Bool {
    var files = [other, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    unsafe poll(&files, nfds_t(files.count), milliseconds)
    return files[1].revents != 0
  }

  func hear() {
    var count = eventfd_t()
    unsafe eventfd_read(descriptor, &count)
  }
}
