import Glibc

/// Sees whether a directory itself is opened. Whoever makes the names in it durable must open it.
package final class DirectoryWatch {
  private let descriptor: Int32

  package init(_ path: String) throws {
    descriptor = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    guard unsafe inotify_add_watch(descriptor, path, UInt32(IN_OPEN)) >= 0 else {
      throw ScratchError(reason: "cannot watch a directory")
    }
  }

  deinit { close(descriptor) }

  /// Whether the directory was opened since the last call.
  package func wasOpened() -> Bool {
    var events = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(descriptor, &events, events.count)
    var (place, wasOpened) = (0, false)
    // The last 4 of an event's first 16 bytes are the length of the name that follows. The directory has none.
    while place + 16 <= count {
      let length = events[(place + 12)..<(place + 16)].reversed().reduce(0) { $0 * 256 + Int($1) }
      wasOpened = wasOpened || length == 0
      place += 16 + length
    }
    return wasOpened
  }
}
