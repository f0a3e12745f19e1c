import Base
import Crypto

/// A directory to restore into for inspection.
package enum ScratchFolder {
  private static let prefix = "verify-"

  /// Calls `body` with `path` or, if that is nil, a new directory next to the backup, which is removed afterwards.
  package static func with<Value>(
    _ path: String?, beside backup: String, _ body: (String) throws -> Value
  ) throws -> Value {
    if let path { return try body(path) }
    let folder = Folder(path: backup)
    guard folder.exists else { throw BackupError(.refused, "there is no backup in \(backup)") }
    // The new directory is made within a directory of backups, but next to a single backup.
    let home = folder.has(Manifest.name) ? folder.folder("..") : folder
    try clear(in: home)
    let scratch = home.folder("\(prefix)\(Random.identifier())")
    try scratch.make()
    let lock = FolderLock(scratch)
    defer { withExtendedLifetime(lock) {} }
    let result = Result { try body(scratch.path) }
    try scratch.removeAll()
    return try result.get()
  }

  /// Removes the directories of processes that were stopped. Each holds a copy of a database.
  static func clear(in home: Folder) throws(BackupError) {
    for name in try home.names() where name.hasPrefix(prefix) {
      guard Identifier(String(name.dropFirst(prefix.count))) != nil,
        let lock = FolderLock(home.folder(name))
      else { continue }
      try home.folder(name).removeAll()
      withExtendedLifetime(lock) {}
    }
  }
}
