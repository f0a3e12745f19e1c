package import Base
import Glibc
package import Objects
package import Storage

/// One backup of a database and an object store that are in use.
///
/// Most objects are copied first, without a hold. Then a hold stops all deletions: the database is copied as of one
/// moment, and after it the objects that it needs and that came since. So every object that the copy names is there.
package struct BackupRun {
  private let database: Database
  private let objects: any ObjectStore
  private let location: DatabaseLocation
  private let dumpCommand: String?
  private let contentByteCount: Int64
  private let set: BackupSet
  /// The newest backup that is there already, and the time at which it says that it was made.
  private let earlier: (folder: Folder, taken: Instant?)?
  /// The history of the database; nil before a server has run on it.
  private let installation: Identifier?
  /// Whether objects of an earlier backup are read before they are taken over.
  private let checksEarlier: Bool

  package enum Stage: String, Sendable {
    case objects = "copying objects"
    case database = "copying the database"
    case rest = "copying what came since"
    case digests = "reading the copy"
  }

  package struct Outcome: Sendable {
    package let path: String
    package let head: Manifest.Head
    package let sum: Manifest.Sum
    /// Of the objects that no earlier backup had.
    package let copiedCount: Int64
    package let copiedByteCount: Int64
    /// The SHA-256 of the manifest, which covers the whole backup.
    package let digest: [UInt8]
    /// The path of an older backup that says that it was made later: a clock was wrong.
    package let ahead: String?
  }

  private static let dumpName = "database.dump"

  /// `apartFrom` are directories in use. Refuses a directory whose newest backup is of another `installation`, unless
  /// `goesOn` allows it. The shell command `dumpingBy` dumps PostgreSQL instead of pg_dump.
  package init(
    into directory: String, of database: Database, at location: DatabaseLocation,
    dumpingBy dumpCommand: String?, _ objects: any ObjectStore, installation: Identifier?,
    goesOn: Bool,
    checksEarlier: Bool, contentByteCount: Int64, apartFrom objectsDirectories: [String]
  ) throws(BackupError) {
    self.database = database
    self.objects = objects
    self.location = location
    self.dumpCommand = dumpCommand
    self.contentByteCount = contentByteCount
    self.installation = installation
    self.checksEarlier = checksEarlier
    var used = objectsDirectories
    if case .sqlite(let directory) = location { used.append(directory) }
    set = try BackupSet(directory, apartFrom: used)
    guard let newest = try BackupSet.whole(in: set.folder).first else {
      earlier = nil
      return
    }
    let beginning = try ManifestReader(of: newest).beginning()
    earlier = (newest, beginning.taken)
    guard !goesOn, let other = beginning.installation, other != installation else { return }
    throw BackupError(
      .refused,
      "\(newest.path) is from another installation, or from this one before a restore: name another "
        + "directory, or continue it with --go-on")
  }

  package func run(
    at now: Instant, each: (Stage, _ done: Int64, _ of: Int64) -> Void
  ) throws -> Outcome {
    let ahead = earlier.flatMap { folder, taken in
      taken.map { $0 > now + Restore.clockDifference } ?? false ? folder.path : nil
    }
    var objects = ObjectRound(
      self.objects, into: try set.begin(), after: earlier?.folder, checks: checksEarlier,
      try set.leftovers())
    let begun = objects.backup
    try ObjectPages(database: database).read { page, inlineByteCount in
      for object in page {
        _ = try objects.take(object)
        objects.passedByteCount += object.byteCount
        each(.objects, objects.passedByteCount, contentByteCount)
      }
      objects.passedByteCount += inlineByteCount
    }
    let manifest = try ManifestWriter(in: begun)
    let (schemas, files) = try held(&objects, manifest, in: begun, at: now, each)
    Folder.synchronizeAll()
    let digest = try manifest.finish()
    let whole = try set.finish(taken: now)
    return Outcome(
      path: whole.path,
      head: Manifest.Head(taken: now, installation: installation, schemas: schemas, files: files),
      sum: manifest.sum, copiedCount: objects.copiedCount,
      copiedByteCount: objects.copiedByteCount, digest: digest, ahead: ahead)
  }

  /// The part of the run during which nothing is deleted from the object store.
  private func held(
    _ objects: inout ObjectRound, _ manifest: ManifestWriter, in begun: Folder, at now: Instant,
    _ each: (Stage, Int64, Int64) -> Void
  ) throws -> (schemas: [String: Int], files: [String: Manifest.File]) {
    let hold = try self.objects.hold()
    try manifest.write(.taken(now))
    if let installation { try manifest.write(.installation(installation)) }
    let schemas = try schemas()
    for (name, number) in schemas.sorted(by: { $0.key < $1.key }) {
      try manifest.write(.schema(name, number))
    }
    let names: [String]
    switch location {
    case .sqlite(let directory):
      names = Schema.allCases.map { "\($0).db" }
      do {
        try DatabaseCopy.take(of: directory, into: begun.path) { each(.database, $0, $1) }
      } catch DatabaseError.unavailable(let reason) {
        throw BackupError(.unavailable, "the database cannot be copied to \(begun.path): \(reason)")
      }
      let copy = try Database.open(.sqlite(directory: begun.path), owning: .sync, .requiresSchema)
      defer { copy.close() }
      try take(ObjectPages(database: copy), &objects, manifest, each)
    case .postgres(let url):
      names = [Self.dumpName]
      try PostgresTools.dump(url, to: begun.path(of: Self.dumpName), with: dumpCommand)
      guard begun.has(Self.dumpName) else {
        throw BackupError(.refused, "the command wrote no dump to the file $COFFER_DUMP")
      }
      try begun.handOver(Self.dumpName)
      try take(ObjectPages(database: database, includesGarbage: true), &objects, manifest, each)
    }
    for schema in Schema.allCases {
      for log in ["-wal", "-shm"] { try begun.remove("\(schema).db\(log)") }
    }
    var files: [String: Manifest.File] = [:]
    for name in names {
      try begun.synchronize(name)
      var read: Int64 = 0
      let file = try Manifest.File(reading: begun.path(of: name)) {
        read += $0
        each(.digests, read, 0)
      }
      files[name] = file
      try manifest.write(.file(name, file))
    }
    try hold.check()
    return (schemas, files)
  }

  /// Lists every object that the copy of the database names, and copies those that are not there yet.
  private func take(
    _ pages: ObjectPages, _ objects: inout ObjectRound, _ manifest: ManifestWriter,
    _ each: (Stage, Int64, Int64) -> Void
  ) throws {
    var passed: Int64 = 0
    try pages.read { page, inlineByteCount in
      for object in page {
        passed += object.byteCount
        if let file = try objects.take(object) {
          try manifest.write(.object(Manifest.Object(id: object.id, file: file)))
        } else if object.isInUse {
          try manifest.write(.missing(object.id))
        }
        each(.rest, passed, contentByteCount)
      }
      passed += inlineByteCount
    }
  }

  private func schemas() throws -> [String: Int] {
    try database.read { reader in
      var numbers: [String: Int] = [:]
      for schema in Schema.allCases {
        numbers[schema.rawValue] = try reader.first(
          "SELECT count(*) FROM \(schema).migrations"
        ) { row in Int(try row.integer(0)) }
      }
      return numbers
    }
  }
}

/// The objects that one run takes: from an earlier backup if it has them, otherwise from the store.
private struct ObjectRound {
  let backup: Folder
  /// The size of the contents that were looked at before the hold.
  var passedByteCount: Int64 = 0
  private(set) var copiedCount: Int64 = 0
  private(set) var copiedByteCount: Int64 = 0

  private let store: any ObjectStore
  private let kept: KeptObjects
  private let earlier: KeptObjects?
  private let checksEarlier: Bool
  private let interrupted: [KeptObjects]

  /// Objects of the earlier backup are read if `checks` is true, or if a verification found that backup damaged.
  init(
    _ store: any ObjectStore, into backup: Folder, after earlier: Folder?, checks: Bool,
    _ interrupted: [Folder]
  ) {
    self.store = store
    self.backup = backup
    kept = KeptObjects(in: backup)
    self.earlier = earlier.map { KeptObjects(in: $0) }
    checksEarlier = checks || earlier?.has(BackupSet.damaged) == true
    self.interrupted = interrupted.map { KeptObjects(in: $0) }
  }

  /// Nil if the store does not have the object, or not all of it.
  mutating func take(_ object: ObjectPages.Object) throws -> Manifest.File? {
    if let own = try kept.find(object.id) { return own.file }
    if let entry = try earlier?.find(object.id), entry.file.byteCount == object.byteCount,
      try !checksEarlier || entry.isWhole(), try kept.link(entry, as: object.id)
    {
      return entry.file
    }
    for leftover in interrupted {
      // An object that a crash left may be shorter than it was.
      guard let entry = try leftover.find(object.id), entry.file.byteCount == object.byteCount,
        try entry.isWhole(), try kept.link(entry, as: object.id)
      else { continue }
      return entry.file
    }
    guard let file = try store.open(object.id),
      file.byteCount == object.byteCount || !object.isInUse,
      let local = try fetched(file, object.id)
    else { return nil }
    let copied = try withExtendedLifetime(local) {
      try kept.copy(local.descriptor, as: object.id)
    }
    copiedCount += 1
    copiedByteCount += copied.byteCount
    return copied
  }

  /// Nil if the object was deleted while it was fetched from a bucket, as it may be before the hold.
  private func fetched(
    _ file: StoredObject, _ id: Identifier
  ) throws(ObjectStoreError) -> OpenFile? {
    do throws(ObjectStoreError) { return try file.file() } catch {
      guard try store.open(id) == nil else { throw error }
      return nil
    }
  }
}
