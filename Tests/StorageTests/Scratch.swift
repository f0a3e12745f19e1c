import Base
import Glibc
import Migrations
import Storage

/// A directory of one test, removed when the test lets go of it.
final class ScratchDirectory: Sendable {
  let path: String

  init(in parent: String = "/tmp") {
    var random = SystemRandomNumberGenerator()
    path = "\(parent)/coffer-storage-\(getpid())-\(String(random.next(), radix: 36))"
    precondition(unsafe mkdir(path, 0o700) == 0, "cannot create \(path)")
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
func names(in path: String) -> [String] {
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

/// A migration given as text.
func migration(_ number: Int, _ sql: String) -> Migration {
  Migration(number: number, name: "test\(number)", sql: Array(sql.utf8))
}

/// The bytes of a file, 0 when there is none.
func fileSize(_ path: String) -> Int {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// The permission bits of a file.
func permissions(_ path: String) -> UInt32 {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}

/// A file locked as another program would.
final class LockedFile: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw Refusal(reason: "cannot lock \(path)")
    }
  }

  func release() { flock(descriptor, LOCK_UN) }

  deinit { close(descriptor) }
}
