internal import Base
internal import Glibc

/// A directory of backups: each whole one in a directory of its own, named by its time, and what
/// interrupted runs left, which only the next run looks at.
///
/// Backups share the files of objects that did not change (hard links), yet none needs another: any of
/// them may be removed.
struct BackupSet {
  let folder: Folder
  private let lock: FolderLock

  private static let lockName = "coffer-backups.lock"
  private static let unfinished = "unfinished"
  private static let interrupted = "interrupted"
  /// In a backup of which a verification found objects damaged, so that the next one reads what it takes
  /// over from it.
  static let damaged = "damaged"

  /// Makes the directory where it is missing. Refuses one of other files, and one within `others`.
  init(_ path: String, apartFrom others: [String]) throws(BackupError) {
    let place = Folder(path: path)
    try place.make()
    guard place.exists else { throw BackupError(.refused, "\(path) is no directory") }
    for other in others where Self.lies(path, within: other) || Self.lies(other, within: path) {
      throw BackupError(.refused, "\(path) is no place for backups: it shares files with \(other)")
    }
    let isEmpty = try place.names().isEmpty
    guard isEmpty || place.has(Self.lockName) else {
      throw BackupError(.refused, "\(path) is not empty and holds no backups of Coffer")
    }
    folder = place.resolved
    lock = try FolderLock(folder, Self.lockName)
    try ScratchFolder.clear(in: folder)
  }

  private static func lies(_ path: String, within other: String) -> Bool {
    guard let path = Folder.resolved(path), let other = Folder.resolved(other) else { return false }
    return path == other || path.hasPrefix(other + "/")
  }

  /// The whole backups, the newest first.
  static func whole(in folder: Folder) throws(BackupError) -> [Folder] {
    try folder.names().sorted(by: >).map { folder.folder($0) }
      .filter { $0.has(Manifest.name) && !$0.path.hasSuffix("/" + unfinished) }
  }

  /// What runs left that began after a backup and are not through, or never came to their end.
  static func unfinished(in folder: Folder, after backup: Folder) throws(BackupError) -> [Folder] {
    try folder.names().sorted().filter { name in
      name == unfinished || name.hasPrefix(interrupted + "-")
        || name.first?.isNumber == true && name > backup.name
          && !folder.folder(name).has(Manifest.name)
    }.map { folder.folder($0) }.filter { $0.exists }
  }

  /// An empty directory for the next backup; what the last run left stands aside.
  func begin() throws(BackupError) -> Folder {
    if folder.has(Self.unfinished) {
      var number = 1
      while folder.has("\(Self.interrupted)-\(number)") { number += 1 }
      try folder.rename(Self.unfinished, to: "\(Self.interrupted)-\(number)")
    }
    let begun = folder.folder(Self.unfinished)
    try begun.make()
    return begun
  }

  /// What interrupted runs left.
  func leftovers() throws(BackupError) -> [Folder] {
    try folder.names().filter { $0.hasPrefix(Self.interrupted + "-") }.map { folder.folder($0) }
  }

  /// Gives the backup that was begun its name, durably, and forgets what interrupted runs left.
  func finish(taken: Instant) throws(BackupError) -> Folder {
    let time = Instant(seconds: taken.seconds).description.replacing(":", with: "-")
    var (name, number) = (time, 1)
    while folder.has(name) {
      number += 1
      name = "\(time)-\(number)"
    }
    try folder.rename(Self.unfinished, to: name)
    try folder.synchronize()
    for leftover in try leftovers() { try leftover.removeAll() }
    return folder.folder(name)
  }
}
