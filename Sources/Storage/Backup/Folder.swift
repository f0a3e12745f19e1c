import Base
import Glibc

/// A directory of a backup, or one that a backup is restored into.
struct Folder {
  let path: String

  func path(of name: String) -> String { "\(path)/\(name)" }

  func folder(_ name: String) -> Folder { Folder(path: path(of: name)) }

  var name: Substring {
    path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
  }

  /// The same directory by its whole path without symbolic links, for other programs.
  var resolved: Folder { Self.resolved(path).map { Folder(path: $0) } ?? self }

  static func resolved(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  var exists: Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  func has(_ name: String) -> Bool { unsafe access(path(of: name), F_OK) == 0 }

  /// Makes the directory for its owner only. One that exists stays as it is.
  func make() throws(BackupError) {
    guard FileOwnership.makeDirectory(path) || errno == EEXIST else { throw failure("create") }
  }

  /// Every name except `.` and `..`, in no order; none if there is no such directory.
  func names() throws(BackupError) -> [String] {
    if let names = directoryNames(path) { return names }
    guard errno == ENOENT else { throw failure("list") }
    return []
  }

  /// Makes an empty file if it is missing, durably. False if the directory cannot be written to.
  func mark(_ name: String) -> Bool {
    let file = unsafe open(path(of: name), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    return FileOwnership.handOver(file, at: path(of: name)) && synchronizeDirectory(path)
  }

  /// Gives a file that another program made as this user to the folder's owner.
  func handOver(_ name: String) throws(BackupError) {
    let file = unsafe open(path(of: name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw folder(name).failure("open") }
    defer { close(file) }
    guard FileOwnership.handOver(file, at: path(of: name)) else {
      throw folder(name).failure("give away")
    }
  }

  func rename(_ name: String, to other: String) throws(BackupError) {
    guard unsafe Glibc.rename(path(of: name), path(of: other)) == 0 else {
      throw folder(name).failure("rename")
    }
  }

  func remove(_ name: String) throws(BackupError) {
    guard unsafe unlink(path(of: name)) == 0 || errno == ENOENT else {
      throw folder(name).failure("remove")
    }
  }

  /// Removes the directory and everything in it. Follows no symbolic link.
  func removeAll() throws(BackupError) {
    for name in try names() {
      var status = stat()
      guard unsafe lstat(path(of: name), &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        try folder(name).removeAll()
      } else {
        try remove(name)
      }
    }
    guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw failure("remove") }
  }

  /// Gives a file a second name in this directory. False if the file system cannot, or allows no further names.
  func link(_ name: String, from other: String) throws(BackupError) -> Bool {
    if unsafe Glibc.link(other, path(of: name)) == 0 || errno == EEXIST { return true }
    if errno == EPERM || errno == EXDEV || errno == EMLINK || errno == ENOTSUP { return false }
    throw folder(name).failure("link")
  }

  /// Makes a file of the directory durable or, by default, the names made, renamed and removed in it.
  func synchronize(_ name: String = ".") throws(BackupError) {
    let file = unsafe open(path(of: name), O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw failure("open") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw failure("synchronize") }
  }

  /// Does the same for every directory of the machine at once: a backup has as many as objects.
  static func synchronizeAll() { sync() }

  func failure(_ action: String) -> BackupError { .system(action, path) }
}

extension BackupError {
  static func system(_ action: String, _ path: String, _ kind: Kind = .unavailable) -> BackupError {
    BackupError(kind, "cannot \(action) \(path): \(systemError())")
  }
}

/// The right to write into a directory. One process has it at a time, and loses it when it ends.
final class FolderLock {
  private let descriptor: Int32

  init(_ folder: Folder, _ name: String) throws(BackupError) {
    let path = folder.path(of: name)
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, FileOwnership.handOver(descriptor, at: path) else {
      throw .system("create", path)
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw BackupError(.unavailable, "another backup into \(folder.path) is under way")
    }
  }

  /// Locks the directory itself, for one that must stay empty. Nil if another process holds it.
  init?(_ folder: Folder) {
    descriptor = unsafe open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }

  deinit { close(descriptor) }
}
