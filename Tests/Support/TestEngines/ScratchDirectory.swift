internal import Glibc

/// A directory of one test, removed when the test lets go of it.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init(in parent: String = "/tmp") throws {
    var random = SystemRandomNumberGenerator()
    path = "\(parent)/coffer-test-\(getpid())-\(String(random.next(), radix: 36))"
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw ScratchError(reason: "cannot create \(path)")
    }
  }

  deinit { remove(path) }

  private func remove(_ path: String) {
    for name in names(in: path) {
      let child = "\(path)/\(name)"
      if unsafe unlink(child) != 0 { remove(child) }
    }
    unsafe rmdir(path)
  }
}

/// The names in a directory, except `.` and `..`; empty when it cannot be read.
package func names(in path: String) -> [String] {
  guard let directory = unsafe opendir(path) else { return [] }
  defer { unsafe closedir(directory) }
  var names: [String] = []
  while let entry = unsafe readdir(directory) {
    let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

package struct ScratchError: Error {
  let reason: String
}
