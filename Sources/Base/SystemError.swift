import Glibc

/// The text of an error number, which contains no path.
package func systemError(_ code: Int32 = errno) -> String {
  var buffer = [CChar](repeating: 0, count: 128)
  guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
  return String(
    decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Makes the names created, renamed or removed in a directory survive a power failure. Returns false, with `errno`
/// set, if it cannot.
package func synchronizeDirectory(_ path: String) -> Bool {
  let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard directory >= 0 else { return false }
  defer { close(directory) }
  return fsync(directory) == 0
}
