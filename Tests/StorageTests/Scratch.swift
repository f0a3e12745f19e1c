import Base
import Glibc
import Migrations
import Storage

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
