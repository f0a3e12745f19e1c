import Base
import Glibc

/// A directory of backups, each in one named by its time. The next run removes what interrupted ones left.
///
/// Backups share the files of objects by hard links, but none needs another: any of them may be removed.
struct BackupSet {
  let folder: Folder
  private let lock: FolderLock

  private static let lockName = "coffer-backups.lock"
  private static let unfinished = "unfinished"
  private static let interrupted = "interrupted"
  /// A file that marks a backup with damaged objects, so that the next one reads what it takes over from there.
  static let damaged = "damaged"

  /// Makes the directory if it is missing. Refuses one with other files, or in, or around, one of `others`.
  init(_ path: String, apartFrom others: [String]) throws(BackupError) {
    let place = Folder(path: path)
    try place.make()
    guard place.exists else { throw BackupError(.refused, "\(path) is no directory") }
    for other in others where Self.lies(path, within: other) || Self.lies(other, within: path) {
      throw BackupError(.refused, "\(path) cannot hold backups: it shares files with \(other)")
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

  static func whole(in folder: Folder) throws(BackupError) -> [Folder] {
    try folder.names().sorted(by: >).map { folder.folder($0) }
      .filter { $0.has(Manifest.name) && !$0.path.hasSuffix("/" + unfinished) }
  }

  /// The directories of runs that began after `backup` and are still under way, or were cut off.
  static func unfinished(in folder: Folder, after backup: Folder) throws(BackupError) -> [Folder] {
    try folder.names().sorted().filter { name in
      name == unfinished || name.hasPrefix(interrupted + "-")
        || name.first?.isNumber == true && name > backup.name
          && !folder.folder(name).has(Manifest.name)
    }.map { folder.folder($0) }.filter { $0.exists }
  }

  /// Makes an empty directory for the next backup. The objects that the last run left are moved aside.
  func begin() throws(BackupError) -> Folder {
    if folder.has(Self.unfinished) {
      // Only its objects are of use. The copy of its database may leave the disk no room for another.
      let left = folder.folder(Self.unfinished)
      for name in try left.names() where name != KeptObjects.name { try? left.remove(name) }
      var number = 1
      while folder.has("\(Self.interrupted)-\(number)") { number += 1 }
      try folder.rename(Self.unfinished, to: "\(Self.interrupted)-\(number)")
    }
    let begun = folder.folder(Self.unfinished)
    try begun.make()
    return begun
  }

  func leftovers() throws(BackupError) -> [Folder] {
    try folder.names().filter { $0.hasPrefix(Self.interrupted + "-") }.map { folder.folder($0) }
  }

  /// Gives the new backup its name, durably, and removes what interrupted runs left.
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
