/// A directory to restore into, to look at what was restored.
package enum ScratchFolder {
  /// Lends `path` where it is given, else a new directory where the backup lies, which is removed
  /// afterwards.
  package static func with<Value>(
    _ path: String?, beside backup: String, named name: String, _ body: (String) throws -> Value
  ) throws -> Value {
    if let path { return try body(path) }
    let folder = Folder(path: backup)
    guard folder.exists else { throw BackupError(.refused, "there is no backup in \(backup)") }
    // A directory of backups holds it; beside a single backup it stands.
    let home = folder.has(Manifest.name) ? folder.folder("..") : folder
    let result = Result { try body(home.path(of: name)) }
    try home.folder(name).removeAll()
    return try result.get()
  }
}
