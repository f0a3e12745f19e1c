package import Base
import Glibc

/// A hold that the kernel ends with its process.
private final class DirectoryHold: ObjectHold {
  private let lock: InstanceLock

  init(_ lock: InstanceLock) { self.lock = lock }

  func check() {}
}

/// An object store in a local directory.
///
/// Uploads go to `tmp/` and appear under their key only when whole and durable. Processes lock a file while they run.
package final class DirectoryStore: ObjectStore {
  let directory: String
  package let opensAtOnce: Bool
  private let lock: InstanceLock
  /// Fan-out directories that this process has made durable against a power failure.
  private let durable = Locked<Set<UInt64>>([])

  /// Creates missing directories. The parent directory must exist.
  package init(directory: String) throws(ObjectStoreError) {
    self.directory = directory
    try Self.makeDirectory(directory)
    try Self.makeDirectory("\(directory)/tmp")
    try Self.makeDirectory("\(directory)/instances")
    try Self.makeDirectory("\(directory)/holds")
    try Self.synchronize(directory)
    opensAtOnce = Self.isOnDisk(directory)
    lock = try InstanceLock(in: "\(directory)/instances")
  }

  /// The store that was made in the directory before; nil if there is none.
  package static func existing(in directory: String) throws(ObjectStoreError) -> DirectoryStore? {
    guard unsafe access("\(directory)/instances", F_OK) == 0 else { return nil }
    return try DirectoryStore(directory: directory)
  }

  /// Whether the directory is on a disk here. File systems over a network, in memory and Btrfs have no device.
  private static func isOnDisk(_ directory: String) -> Bool {
    var status = stat()
    guard unsafe stat(directory, &status) == 0 else { return false }
    // The device's major number; 0 stands for none.
    return (status.st_dev >> 8) & 0xFFF != 0 || status.st_dev >> 44 != 0
  }

  /// Throws if the directory is not the one that was opened, because its disk is gone.
  package func check() throws(ObjectStoreError) {
    guard unsafe access("\(directory)/instances/\(instance)", F_OK) == 0 else {
      throw .unavailable(reason: "the object store is gone; is its disk mounted?")
    }
  }

  package var instance: Identifier { lock.id }

  package func isRunning(_ instance: Identifier) -> Bool {
    InstanceLock.isHeld(instance, in: "\(directory)/instances")
  }

  package func forgetInstances() throws(ObjectStoreError) {
    for name in try identifiers(in: "instances") where !isRunning(name) {
      InstanceLock.remove(name, in: "\(directory)/instances")
    }
  }

  package func hold() throws(ObjectStoreError) -> any ObjectHold {
    DirectoryHold(try InstanceLock(in: "\(directory)/holds"))
  }

  package func isHeld() throws(ObjectStoreError) -> Bool {
    var isHeld = false
    for hold in try identifiers(in: "holds") {
      if InstanceLock.isHeld(hold, in: "\(directory)/holds") {
        isHeld = true
      } else {
        InstanceLock.remove(hold, in: "\(directory)/holds")
      }
    }
    return isHeld
  }

  /// Throws `.alreadyExists` if another upload has this key.
  package func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    let file = unsafe Glibc.open(
      temporaryPath(key), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw errno == EEXIST ? .alreadyExists : Self.failure("create") }
    guard FileOwnership.handOver(file, at: temporaryPath(key)) else {
      let failure = Self.failure("give a file away")
      close(file)
      throw failure
    }
    return DirectoryWriter(store: self, key: key, descriptor: file)
  }

  package func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter {
    let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (checkpoint.byteCount == 0 ? O_CREAT : 0)
    let file = unsafe Glibc.open(temporaryPath(key), flags, 0o600)
    guard file >= 0 else {
      guard errno == ENOENT else { throw Self.failure("open") }
      return try finished(key, checkpoint)
    }
    do throws(ObjectStoreError) {
      guard FileOwnership.handOver(file, at: temporaryPath(key)) else {
        throw Self.failure("give a file away")
      }
      // The lock is the fence between writers; the kernel drops it with the last descriptor of this opening.
      guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
        throw errno == EWOULDBLOCK ? .busy : Self.failure("lock")
      }
      var status = stat()
      guard unsafe fstat(file, &status) == 0 else { throw Self.failure("measure") }
      // The writer before may have finished: then the file has its final name, and this one may be gone.
      guard status.st_nlink == 1 else {
        close(file)
        return try finished(key, checkpoint)
      }
      guard status.st_size >= checkpoint.byteCount else { throw .incomplete }
      guard ftruncate(file, off_t(checkpoint.byteCount)) == 0,
        lseek(file, 0, SEEK_END) == checkpoint.byteCount
      else { throw Self.failure("truncate") }
    } catch {
      close(file)
      throw error
    }
    return DirectoryWriter(resuming: key, in: self, descriptor: file, at: checkpoint)
  }

  private func finished(
    _ key: Identifier, _ checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> DirectoryWriter {
    guard let object = try open(key), object.byteCount == checkpoint.byteCount else {
      throw .incomplete
    }
    // The writer before may have been killed between giving the name and making it durable.
    try makeDurableFanOut(key)
    try Self.synchronize(fanOut(key).inner)
    try deleteLeftover(key)
    return DirectoryWriter(resuming: key, in: self, descriptor: nil, at: checkpoint)
  }

  package func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject? {
    let file = unsafe Glibc.open(path(key), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw Self.failure("open")
    }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else {
      close(file)
      throw Self.failure("measure")
    }
    return .file(OpenFile(owning: file, byteCount: Int64(status.st_size)))
  }

  /// After a power failure the object may be back. It then takes space until it is deleted again.
  package func delete(_ key: Identifier) throws(ObjectStoreError) {
    guard unsafe unlink(path(key)) == 0 || errno == ENOENT else { throw Self.failure("delete") }
  }

  package func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier] {
    try identifiers(in: "tmp").filter { key in
      var status = stat()
      guard unsafe lstat(temporaryPath(key), &status) == 0, status.st_mode & S_IFMT == S_IFREG
      else {
        return false
      }
      return Instant(seconds: Int64(status.st_mtim.tv_sec)) < moment
    }
  }

  package func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject] {
    let outer = Hex.encode([byte])
    guard let inner = directoryNames("\(directory)/\(outer)") else {
      guard errno == ENOENT else { throw Self.failure("list") }
      return []
    }
    var listed: [ListedObject] = []
    for name in inner.sorted() where UInt8(name, radix: 16) != nil {
      for key in try identifiers(in: "\(outer)/\(name)") {
        var status = stat()
        // An object that is gone was deleted in the meantime. Anything but a plain file is not ours.
        guard unsafe lstat(path(key), &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
          continue
        }
        listed.append(
          ListedObject(
            key: key, byteCount: Int64(status.st_size),
            written: Instant(seconds: Int64(status.st_mtim.tv_sec))))
      }
    }
    return listed
  }

  func identifiers(in name: String) throws(ObjectStoreError) -> [Identifier] {
    guard let names = directoryNames("\(directory)/\(name)") else { throw Self.failure("list") }
    return names.compactMap { Identifier($0) }
  }

  package func deleteLeftover(_ key: Identifier) throws(ObjectStoreError) {
    guard unsafe unlink(temporaryPath(key)) == 0 || errno == ENOENT else {
      throw Self.failure("delete")
    }
  }

  func synchronizeUnfinished() throws(ObjectStoreError) {
    try Self.synchronize("\(directory)/tmp")
  }

  /// Gives a complete, synchronized upload its final name, durably, and never replaces another.
  func publish(_ key: Identifier) throws(ObjectStoreError) {
    try makeDurableFanOut(key)
    // Unlike a rename, a link fails if a file of that name exists.
    guard unsafe link(temporaryPath(key), path(key)) == 0 else {
      throw errno == EEXIST ? .alreadyExists : Self.failure("publish")
    }
    try Self.synchronize(fanOut(key).inner)
    try deleteLeftover(key)
  }

  func temporaryPath(_ key: Identifier) -> String { "\(directory)/tmp/\(key)" }

  private func path(_ key: Identifier) -> String { "\(fanOut(key).inner)/\(key)" }

  /// `ab` and `ab/cd` for a key that begins with abcd. The files are spread over 65,536 directories.
  private func fanOut(_ key: Identifier) -> (outer: String, inner: String) {
    let digits = key.description
    let outer = "\(directory)/\(digits.prefix(2))"
    return (outer, "\(outer)/\(digits.dropFirst(2).prefix(2))")
  }

  /// Makes the key's directories, and makes their names durable.
  ///
  /// Only what this process has synchronized counts: another thread may have made a directory a moment ago.
  private func makeDurableFanOut(_ key: Identifier) throws(ObjectStoreError) {
    let prefix = key.high >> 48
    if durable.withLock({ $0.contains(prefix) }) { return }
    let (outer, inner) = fanOut(key)
    try Self.makeDirectory(outer)
    try Self.makeDirectory(inner)
    try Self.synchronize(directory)
    try Self.synchronize(outer)
    durable.withLock { _ = $0.insert(prefix) }
  }

  private static func makeDirectory(_ path: String) throws(ObjectStoreError) {
    guard FileOwnership.makeDirectory(path) || errno == EEXIST else { throw failure("create") }
  }

  static func synchronize(_ path: String) throws(ObjectStoreError) {
    guard synchronizeDirectory(path) else { throw failure("synchronize a directory") }
  }

  /// The text contains no path, because a key in an error would end up in a log.
  static func failure(_ action: String) -> ObjectStoreError {
    .unavailable(reason: "cannot \(action) in the object store: \(systemError())")
  }
}
