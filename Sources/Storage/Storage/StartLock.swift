import Base
import Glibc

/// The lock file that lets one program at a time create and migrate the SQLite files.
///
/// The kernel drops the lock with the process, so a crash leaves nothing to clean up.
enum StartLock {
  private static let pauseMicroseconds: UInt32 = 10_000

  /// Waits for the lock until `deadline` and holds it while `body` runs.
  static func hold(
    _ path: String, until deadline: MonotonicTime, _ body: () throws -> Void
  ) throws {
    let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if file < 0, errno == EACCES { throw DatabaseError.withoutRight(to: "write", path) }
    guard file >= 0 else {
      throw DatabaseError.unavailable(reason: "cannot open the lock file \(path): \(systemError())")
    }
    defer { close(file) }
    guard FileOwnership.handOver(file, at: path) else {
      throw DatabaseError.unavailable(reason: "cannot give \(path) away: \(systemError())")
    }
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw DatabaseError.unavailable(reason: "cannot lock \(path): \(systemError())")
      }
      guard MonotonicTime.now() < deadline else {
        throw DatabaseError.unavailable(reason: "another program holds the lock file \(path)")
      }
      usleep(pauseMicroseconds)
    }
    try body()
  }
}
