package import Base
import Glibc
import Migrations
package import Objects
package import Storage

/// Restores a backup into an empty directory: first `objects`, unless they go to another store, last `database`.
///
/// Everything is checked against its digest. What is damaged, missing or unreadable is left out and reported.
package struct Restore {
  package let head: Manifest.Head
  package let sum: Manifest.Sum
  /// The directories of later runs that are not whole backups. Empty if `path` named one backup.
  package let unfinished: [String]
  private let backup: Folder
  private let target: Folder
  private let objects: Objects

  /// Where objects go.
  package enum Objects {
    /// To the directory.
    case copied
    /// To the directory, linked instead of copied if the file system can: for inspection, not for use.
    case linked
    case stored(any ObjectStore)
  }

  package struct Outcome: Sendable {
    /// The place of the databases: the directory of the files, or PostgreSQL's dump.
    package let database: DatabasePlace
    package let objects: any ObjectStore
    package let objectCount: Int64
    package let damagedCount: Int64
    /// The first of the damaged objects.
    package let damaged: [Identifier]
    /// Whether objects of the backup were damaged or lost, not only absent from the store when it was made.
    package let hasChanged: Bool
  }

  package enum DatabasePlace: Sendable {
    case sqlite(directory: String)
    case dump(path: String)
    /// No database was restored; the text says what is wrong with the backup's.
    case damaged(String)
  }

  private static let listedCountMax = 100
  private static let databaseName = "database"
  private static let unfinishedName = databaseName + ".unfinished"

  /// How far this machine's clock may be behind the clock of the machine that made the backup.
  package static let clockDifference = Instant.Span.minutes(1)

  /// `path` is a backup, or a directory of which the newest is used; `now` refuses one from the future.
  package init(
    of path: String, into directory: String, _ objects: Objects, at now: Instant? = nil
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
          ? "\(directory) is left from an interrupted restore: remove it and start again"
          : "\(directory) is not empty; a backup is restored into an empty one")
    }
    target = place.resolved
    self.objects = objects
  }

  private static func backup(
    _ path: String, at now: Instant?
  ) throws(BackupError) -> (Folder, unfinished: [String]) {
    let folder = Folder(path: path).resolved
    guard folder.exists else { throw BackupError(.refused, "there is no backup in \(path)") }
    if folder.has(Manifest.name) { return (folder, []) }
    guard let newest = try BackupSet.whole(in: folder).first else {
      throw BackupError(.refused, "\(path) is not a complete backup: it has no manifest")
    }
    if let now, let taken = try ManifestReader(of: newest).beginning().taken,
      taken > now + clockDifference
    {
      throw BackupError(
        .refused,
        "\(newest.path) is from the future, so the newest backup is unknown: name one")
    }
    return (newest, try BackupSet.unfinished(in: folder, after: newest).map { $0.path })
  }

  /// Whether the backup's database is a PostgreSQL dump, which is not loaded here.
  package var isDump: Bool { Self.isDump(head) }

  private static func isDump(_ head: Manifest.Head) -> Bool {
    head.files.keys.contains { $0.hasSuffix(".dump") }
  }

  /// The backup that is restored.
  package var path: String { backup.path }

  /// The directory that holds the backup, usually among others.
  package var home: String { backup.folder("..").resolved.path }

  /// Where objects are restored that go to the directory.
  package var objectsDirectory: String { target.path(of: KeptObjects.name) }

  /// Makes the next backup read what it takes over from this one. False if this one cannot be marked.
  package func noteDamage() -> Bool { backup.mark(BackupSet.damaged) }

  /// `renew` gets the restored database before its files are moved to their place; `each` gets bytes.
  package func run(
    renew: (DatabaseLocation) throws -> Void, each: (_ done: Int64, _ of: Int64) -> Void
  ) throws -> Outcome {
    var done: Int64 = 0
    let total = head.files.values.reduce(sum.byteCount) { $0.addingClamped($1.byteCount) }
    func advance(_ byteCount: Int64) {
      done += byteCount
      each(done, total)
    }
    let (kept, store) = (KeptObjects(in: backup), try store())
    var (count, damagedCount, damaged) = (Int64(0), Int64(0), [Identifier]())
    var hasChanged = false
    try ManifestReader(of: backup).read { (line) throws(BackupError) in
      let id: Identifier
      switch line {
      case .object(let object):
        id = object.id
        if try restore(object, kept, to: store, advance) {
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
      database: database, objects: store, objectCount: count,
      damagedCount: damagedCount, damaged: damaged, hasChanged: hasChanged)
  }

  private func store() throws(BackupError) -> any ObjectStore {
    if case .stored(let store) = objects { return store }
    return try BackupError.ofStore { () throws(ObjectStoreError) in
      try DirectoryStore(directory: objectsDirectory)
    }
  }

  private func restore(
    _ object: Manifest.Object, _ kept: KeptObjects, to store: any ObjectStore,
    _ advance: (Int64) -> Void
  ) throws(BackupError) -> Bool {
    let source = kept.path(of: object)
    guard unsafe access(source, F_OK) == 0 else { return false }
    do throws(BackupError) {
      if case .linked = objects {
        let place = try KeptObjects.made(object.id, in: Folder(path: objectsDirectory))
        if try place.link("\(object.id)", from: source) {
          let found = try Manifest.File(reading: source, each: advance)
          if found != object.file { try place.remove("\(object.id)") }
          return found == object.file
        }
      }
      return try copy(object, from: source, to: store, advance)
    } catch {
      guard error.kind == .unreadable else { throw error }
      return false
    }
  }

  /// An object becomes visible only once it is whole. So what is there already is of a run that was interrupted.
  private func copy(
    _ object: Manifest.Object, from source: String, to store: any ObjectStore,
    _ advance: (Int64) -> Void
  ) throws(BackupError) -> Bool {
    let there = try BackupError.ofStore { () throws(ObjectStoreError) in
      try store.open(object.id)?.byteCount
    }
    if there == object.file.byteCount {
      advance(object.file.byteCount)
      return true
    }
    let writer = try BackupError.ofStore { () throws(ObjectStoreError) in
      try store.create(object.id)
    }
    defer { writer.abandon() }
    let found = try Manifest.File(reading: source, to: writer, each: advance)
    guard found == object.file else { return false }
    try BackupError.ofStore { () throws(ObjectStoreError) in try writer.finish() }
    return true
  }

  private func restoreDatabase(
    _ renew: (DatabaseLocation) throws -> Void, _ advance: (Int64) -> Void
  ) throws -> DatabasePlace {
    if let (name, file) = head.files.first(where: { $0.key.hasSuffix(".dump") }) {
      let dump = backup.path(of: name)
      try require(try Manifest.File(reading: dump, each: advance), file, name)
      return .dump(path: dump)
    }
    let unfinished = target.folder(Self.unfinishedName)
    try unfinished.make()
    for (name, file) in head.files.sorted(by: { $0.key < $1.key }) {
      let copied = try Manifest.File.copy(
        path: backup.path(of: name), to: unfinished.path(of: name), each: advance)
      try require(copied, file, name)
    }
    try renew(.sqlite(directory: unfinished.path))
    Folder.synchronizeAll()
    try target.rename(Self.unfinishedName, to: Self.databaseName)
    return .sqlite(directory: target.path(of: Self.databaseName))
  }

  private func require(
    _ found: Manifest.File, _ file: Manifest.File, _ name: String
  ) throws(BackupError) {
    guard found == file else {
      throw BackupError(
        .damaged, "\(backup.path(of: name)) is damaged: it does not match the manifest")
    }
  }
}

extension Restore.Outcome {
  /// The location of the usable database. A dump is loaded into `given`, which must have no schema of ours, and `renew`
  /// gets that database; nil if there is none to load it into. Throws if the backup's database is damaged.
  package func database(
    loadedInto given: DatabaseLocation?, renew: (DatabaseLocation) throws -> Void
  ) throws -> DatabaseLocation? {
    switch (database, given) {
    case (.sqlite(let directory), _): return .sqlite(directory: directory)
    case (.dump(let path), .postgres(let url)?):
      try PostgresTools.load(path, into: url)
      try renew(.postgres(url: url))
      return given
    case (.dump, _): return nil
    case (.damaged(let why), _):
      throw BackupError(.damaged, why)
    }
  }

  /// Reads the whole of PostgreSQL's dump, if there is one. Throws if it is not complete.
  package func requireWholeDump() throws(BackupError) {
    if case .dump(let path) = database { try PostgresTools.read(path) }
  }
}
