import Glibc

/// The text of an error number, which contains no path.
package func systemError(_ code: Int32 = errno) -> String {
  var buffer = [CChar](repeating: 0, count: 128)
  guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
  return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A variable of the environment; nil if it is not set, or empty.
package func environmentVariable(_ name: String) -> String? {
  guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
  return unsafe String(cString: value)
}

/// Every name in a directory except `.` and `..`, in no order. Nil, with `errno` set, if it cannot be read.
package func directoryNames(_ path: String) -> [String]? {
  guard let listing = unsafe opendir(path) else { return nil }
  defer { unsafe closedir(listing) }
  var names: [String] = []
  while let entry = unsafe readdir(listing) {
    let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// Makes the names in a directory survive a power failure. Returns false, with `errno` set, if it cannot.
package func synchronizeDirectory(_ path: String) -> Bool {
  let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard directory >= 0 else { return false }
  defer { close(directory) }
  return fsync(directory) == 0
}

/// Makes a file's name survive a power failure. Returns false, with `errno` set, if it cannot.
package func synchronizeName(of path: String) -> Bool {
  synchronizeDirectory(FileOwnership.parent(of: path))
}
