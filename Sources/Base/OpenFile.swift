import Glibc

/// Writes all bytes at the descriptor's position. Returns false, with `errno` set, if it cannot.
package func writeAll(_ bytes: RawSpan, to descriptor: Int32) -> Bool {
  unsafe bytes.withUnsafeBytes { bytes in
    var start = 0
    while start < bytes.count {
      let count = unsafe write(descriptor, bytes.baseAddress! + start, bytes.count - start)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      start += count
    }
    return true
  }
}

/// An open file that is closed when its last reference goes.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  package let byteCount: Int64

  /// Takes over `descriptor`.
  package init(owning descriptor: Int32, byteCount: Int64) {
    self.descriptor = descriptor
    self.byteCount = byteCount
  }

  deinit { close(descriptor) }

  /// Exactly these bytes. Nil if they cannot be read, as `errno` says, or if the file ends before them.
  package func read(at offset: Int64, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe pread(
          descriptor, bytes.baseAddress! + done, count - done, off_t(offset) + off_t(done))
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { return nil }
      done += got
    }
    return bytes
  }

  /// Why a path cannot be read as a file.
  package enum Refusal: Error {
    case system(Int32)
    /// The kind of thing that it is instead, e.g. "a pipe".
    case special(String)

    package var text: String {
      switch self {
      case .system(let code): "cannot be read: \(systemError(code))"
      case .special(let what): "is \(what), not a file"
      }
    }
  }

  /// Opens a file that someone named, for reading. Refuses anything but a plain file: a pipe could wait for ever.
  package convenience init(named path: String) throws(Refusal) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else {
      throw errno == ENXIO ? .special("a socket or a device") : .system(errno)
    }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else {
      let code = errno
      close(file)
      throw .system(code)
    }
    if let what = Self.special(status.st_mode) {
      close(file)
      throw .special(what)
    }
    self.init(owning: file, byteCount: Int64(status.st_size))
  }

  /// Nil for a plain file.
  private static func special(_ mode: mode_t) -> String? {
    switch mode & S_IFMT {
    case S_IFREG: nil
    case S_IFDIR: "a directory"
    case S_IFIFO: "a pipe"
    case S_IFCHR, S_IFBLK: "a device"
    default: "something else"
    }
  }
}
