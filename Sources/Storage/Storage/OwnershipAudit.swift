import Base
import Glibc

/// An audit of files in a store that belong to another user, so that its servers cannot read or change them.
///
/// It looks at all directories of an object store, but at objects only in those that changed last.
package struct OwnershipAudit {
  private static let folderCountMax = 200
  private static let objectCountMax = 100

  /// The user who owns the store's directory.
  package let owner: UInt32
  package private(set) var count = 0
  /// The first file found.
  package private(set) var first: String?
  private let directory: String

  /// Nil if the directory does not exist, or may not be read.
  private init?(_ directory: String) {
    var status = stat()
    guard unsafe stat(directory, &status) == 0 else { return nil }
    (self.directory, owner) = (directory, status.st_uid)
  }

  /// Audits both database files, with their logs and the lock.
  package static func database(in directory: String) -> OwnershipAudit? {
    guard var audit = OwnershipAudit(directory) else { return nil }
    let files = SQLiteFiles(directory: directory)
    for path in DatabaseFiles(directory: directory).paths + [files.lockPath] {
      _ = audit.look(path)
    }
    return audit
  }

  /// Audits an object store.
  package static func objects(in directory: String) -> OwnershipAudit? {
    guard var audit = OwnershipAudit(directory) else { return nil }
    var folders: [(path: String, changed: Int)] = []
    for name in names(in: directory) {
      guard let outer = audit.look("\(directory)/\(name)"), isFanOut(name) else { continue }
      for name in names(in: outer.path) where isFanOut(name) {
        if let inner = audit.look("\(outer.path)/\(name)") { folders.append(inner) }
      }
    }
    for name in ["tmp", "instances", "holds"] { audit.sample("\(directory)/\(name)") }
    folders.sort { $0.changed > $1.changed }
    for folder in folders.prefix(folderCountMax) { audit.sample(folder.path) }
    return audit
  }

  private mutating func sample(_ folder: String) {
    for name in Self.names(in: folder).prefix(Self.objectCountMax) { _ = look("\(folder)/\(name)") }
  }

  private mutating func look(_ path: String) -> (path: String, changed: Int)? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    if status.st_uid != owner {
      count += 1
      first = first ?? path
    }
    return (path, Int(status.st_mtim.tv_sec))
  }

  private static func isFanOut(_ name: String) -> Bool {
    name.utf8.count == 2 && Hex.decode(name) != nil
  }

  /// Empty if the directory may not be read: then the directory itself is the finding.
  private static func names(in directory: String) -> [String] {
    directoryNames(directory)?.sorted() ?? []
  }
}
