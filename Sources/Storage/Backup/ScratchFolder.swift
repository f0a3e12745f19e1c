internal import Base
internal import Crypto

/// A directory to restore into, to look at what was restored.
package enum ScratchFolder {
  private static let prefix = "verify-"

  /// Lends `path` where it is given, else a new directory where the backup lies, which is removed
  /// afterwards.
  package static func with<Value>(
    _ path: String?, beside backup: String, _ body: (String) throws -> Value
  ) throws -> Value {
    if let path { return try body(path) }
    let folder = Folder(path: backup)
    guard folder.exists else { throw BackupError(.refused, "there is no backup in \(backup)") }
    // A directory of backups holds it; beside a single backup it stands.
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

  /// Removes those of processes that were stopped: each is a copy of a database.
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
