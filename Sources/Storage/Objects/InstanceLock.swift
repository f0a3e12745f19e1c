import Base
import Glibc

/// A locked file by which other processes that share a directory know that this process runs.
///
/// The kernel drops the lock when the process ends, in whatever way, so no one has to guess from times.
final class InstanceLock: Sendable {
  let id: Identifier
  private let path: String
  private let descriptor: Int32

  init(in directory: String) throws(ObjectStoreError) {
    var random = SystemRandomNumberGenerator()
    while true {
      let id = Identifier(high: random.next(), low: random.next())
      let path = "\(directory)/\(id)"
      let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard file >= 0 else { throw DirectoryStore.failure("create") }
      guard FileOwnership.handOver(file, at: path) else {
        let failure = DirectoryStore.failure("give a file away")
        close(file)
        throw failure
      }
      // Before the lock was taken, another process may have removed the file as one that a crash left behind.
      var status = stat()
      if flock(file, LOCK_EX | LOCK_NB) == 0, unsafe fstat(file, &status) == 0,
        status.st_nlink > 0
      {
        (self.id, self.path, descriptor) = (id, path, file)
        return
      }
      close(file)
    }
  }

  deinit {
    unsafe unlink(path)
    close(descriptor)
  }

  /// Whether the process runs. If this cannot be determined, it counts as running.
  static func isHeld(_ id: Identifier, in directory: String) -> Bool {
    let file = unsafe open("\(directory)/\(id)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return errno != ENOENT }
    defer { close(file) }
    return flock(file, LOCK_SH | LOCK_NB) != 0
  }

  /// Removes the file of a process that no longer runs.
  static func remove(_ id: Identifier, in directory: String) {
    let path = "\(directory)/\(id)"
    let file = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return }
    defer { close(file) }
    // Removed under the lock, so that no process ends up holding a file without a name.
    if flock(file, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
  }
}
