internal import Base
internal import Glibc

/// That this process runs, told to the others that share a directory by a file which it holds locked.
///
/// The kernel drops the lock with the process, however that ends, so nobody has to guess by time.
final class InstanceLock: Sendable {
  let id: Identifier
  private let path: String
  private let descriptor: Int32

  /// The directory must exist.
  init(in directory: String) throws(ObjectStoreError) {
    var random = SystemRandomNumberGenerator()
    while true {
      let id = Identifier(high: random.next(), low: random.next())
      let path = "\(directory)/\(id)"
      let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard file >= 0 else { throw ObjectStore.failure("create") }
      guard FileOwnership.handOver(file, at: path) else {
        let failure = ObjectStore.failure("give a file away")
        close(file)
        throw failure
      }
      // Before it was locked somebody may have taken it for one that a crash left behind.
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

  /// Whether the process runs. One that cannot be asked about counts as running.
  static func isHeld(_ id: Identifier, in directory: String) -> Bool {
    let file = unsafe open("\(directory)/\(id)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return errno != ENOENT }
    defer { close(file) }
    return flock(file, LOCK_SH | LOCK_NB) != 0
  }

  /// Removes the file of a process that runs no more.
  static func remove(_ id: Identifier, in directory: String) {
    let path = "\(directory)/\(id)"
    let file = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return }
    defer { close(file) }
    // Under the lock, so that no process comes to hold a file without a name.
    if flock(file, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
  }
}
