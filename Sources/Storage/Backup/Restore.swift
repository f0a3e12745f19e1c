package import Base
internal import Glibc
internal import Migrations
internal import Storage

/// Puts a backup back into an empty directory: `objects`, and last of all `database`.
///
/// Everything is held against its digest on the way. What is damaged, missing or cannot be read is left
/// out and told of.
package struct Restore {
  package let head: Manifest.Head
  package let sum: Manifest.Sum
  /// Where later runs left what is no backup; none of them where one backup was named.
  package let unfinished: [String]
  private let backup: Folder
  private let target: Folder
  private let linksObjects: Bool

  package struct Outcome: Sendable {
    /// Where the databases are: the directory of the files, or PostgreSQL's dump.
    package let database: DatabasePlace
    package let objectsDirectory: String
    package let objectCount: Int64
    package let damagedCount: Int64
    /// The first of the damaged objects.
    package let damaged: [Identifier]
    /// Whether the backup has objects that changed, not only such as the store did not have.
    package let hasChanged: Bool
  }

  package enum DatabasePlace: Sendable {
    case sqlite(directory: String)
    case dump(path: String)
    /// There is none: the text says what is wrong with that of the backup.
    case damaged(String)
  }

  private static let listedCountMax = 100
  private static let databaseName = "database"
  private static let unfinishedName = databaseName + ".unfinished"

  /// How far a clock may be behind the one that a backup was made by.
  package static let clockDifference = Instant.Span.minutes(1)

  /// `path` is a backup, or a directory of backups of which the newest is meant; with `now` that must not
  /// be of a time to come, since which is the newest is not known then. With `linksObjects` no object is
  /// copied where the file system can do without: for looking at, not for use.
  package init(
    of path: String, into directory: String, at now: Instant? = nil, linksObjects: Bool = false
  ) throws(BackupError) {
    (backup, unfinished) = try Self.backup(path, at: now)
    (head, sum) = try ManifestReader(of: backup).check()
    for (schema, known) in [
      ("sync", Migrations.sync.count), ("billing", Migrations.billing.count),
    ] {
      guard let number = head.schemas[schema], number <= known else {
        throw BackupError(
          .refused,
          "\(backup.path) is of a newer version: its schema \(schema) has more migrations than the "
            + "\(known) of this one")
      }
    }
    let place = Folder(path: directory)
    try place.make()
    let names = try place.names()
    guard names.isEmpty else {
      let isCutOff = names.allSatisfy { [KeptObjects.name, Self.unfinishedName].contains($0) }
      throw BackupError(
        .refused,
        isCutOff && !Self.isDump(head)
          ? "\(directory) is what a restore left that was cut off: remove it and begin again"
          : "\(directory) is not empty; a backup is restored into an empty one")
    }
    target = place.resolved
    self.linksObjects = linksObjects
  }

  private static func backup(
    _ path: String, at now: Instant?
  ) throws(BackupError) -> (Folder, unfinished: [String]) {
    let folder = Folder(path: path).resolved
    guard folder.exists else { throw BackupError(.refused, "there is no backup in \(path)") }
    if folder.has(Manifest.name) { return (folder, []) }
    guard let newest = try BackupSet.whole(in: folder).first else {
      throw BackupError(.refused, "\(path) is no whole backup: it has no manifest")
    }
    if let now, let taken = try ManifestReader(of: newest).beginning().taken,
      taken > now + clockDifference
    {
      throw BackupError(
        .refused,
        "\(newest.path) is of a time to come, so the newest is not known: name one backup")
    }
    return (newest, try BackupSet.unfinished(in: folder, after: newest).map { $0.path })
  }

  /// Whether its database is a dump of PostgreSQL, which is not loaded here.
  package var isDump: Bool { Self.isDump(head) }

  private static func isDump(_ head: Manifest.Head) -> Bool {
    head.files.keys.contains { $0.hasSuffix(".dump") }
  }

  /// The backup that is restored.
  package var path: String { backup.path }

  /// Where it lies with others, as a rule.
  package var home: String { backup.folder("..").resolved.path }

  /// Has the next backup read what it takes over from this one; false where nothing can be noted in it.
  package func noteDamage() -> Bool { backup.mark(BackupSet.damaged) }

  /// `renew` gets the restored files before they come to their place; `each` gets bytes.
  package func run(
    renew: (_ directory: String) throws -> Void, each: (_ done: Int64, _ of: Int64) -> Void
  ) throws -> Outcome {
    var done: Int64 = 0
    let total = sum.byteCount + head.files.values.reduce(0) { $0 + $1.byteCount }
    func advance(_ byteCount: Int64) {
      done += byteCount
      each(done, total)
    }
    let kept = KeptObjects(in: backup)
    let objects = target.folder(KeptObjects.name)
    // Whatever else an object store has, so that it is known as one.
    _ = try ObjectStore(directory: objects.path)
    var (count, damagedCount, damaged) = (Int64(0), Int64(0), [Identifier]())
    var hasChanged = false
    try ManifestReader(of: backup).read { (line) throws(BackupError) in
      let id: Identifier
      switch line {
      case .object(let object):
        id = object.id
        if try restore(object, kept, to: objects, advance) {
          count += 1
          return
        }
        hasChanged = true
      case .missing(let missing): id = missing
      default: return
      }
      damagedCount += 1
      if damaged.count < Self.listedCountMax { damaged.append(id) }
    }
    let database: DatabasePlace
    do { database = try restoreDatabase(renew, advance) } catch let error as BackupError {
      guard [.damaged, .unreadable].contains(error.kind) else { throw error }
      database = .damaged(error.description)
    }
    Folder.synchronizeAll()
    return Outcome(
      database: database, objectsDirectory: objects.path, objectCount: count,
      damagedCount: damagedCount, damaged: damaged, hasChanged: hasChanged)
  }

  /// False where the backup does not have what its manifest says.
  private func restore(
    _ object: Manifest.Object, _ kept: KeptObjects, to objects: Folder, _ advance: (Int64) -> Void
  ) throws(BackupError) -> Bool {
    let source = kept.path(of: object)
    guard unsafe access(source, F_OK) == 0 else { return false }
    let (place, name) = (try KeptObjects.made(object.id, in: objects), "\(object.id)")
    if place.has(name) { return true }
    do throws(BackupError) {
      let found: HashedFile
      if linksObjects, try place.link(name, from: source) {
        found = try HashedFile(reading: source, each: advance)
      } else {
        found = try HashedFile.copy(path: source, to: place.path(of: name), each: advance)
      }
      if Manifest.File(found) == object.file { return true }
    } catch {
      guard error.kind == .unreadable else { throw error }
    }
    try place.remove(name)
    return false
  }

  private func restoreDatabase(
    _ renew: (String) throws -> Void, _ advance: (Int64) -> Void
  ) throws -> DatabasePlace {
    if let (name, file) = head.files.first(where: { $0.key.hasSuffix(".dump") }) {
      let dump = backup.path(of: name)
      try require(try HashedFile(reading: dump, each: advance), file, name)
      return .dump(path: dump)
    }
    let unfinished = target.folder(Self.unfinishedName)
    try unfinished.make()
    for (name, file) in head.files.sorted(by: { $0.key < $1.key }) {
      let copied = try HashedFile.copy(
        path: backup.path(of: name), to: unfinished.path(of: name), each: advance)
      try require(copied, file, name)
    }
    try renew(unfinished.path)
    Folder.synchronizeAll()
    try target.rename(Self.unfinishedName, to: Self.databaseName)
    return .sqlite(directory: target.path(of: Self.databaseName))
  }

  private func require(
    _ found: HashedFile, _ file: Manifest.File, _ name: String
  ) throws(BackupError) {
    guard Manifest.File(found) == file else {
      throw BackupError(
        .damaged, "\(backup.path(of: name)) is damaged: it is not what the manifest says")
    }
  }
}
