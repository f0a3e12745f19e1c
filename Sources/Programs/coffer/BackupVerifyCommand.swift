internal import Backup
internal import Base
internal import Configuration
internal import Crypto
internal import JSON
internal import Storage

extension Command {
  private static let wanted = Parameter<String>.required(
    "backup", text: "one backup, or a directory of them: then the newest whole one", .path)
  private static let scratch = Parameter<String?>.optional(
    "--scratch", "directory",
    text:
      "an empty directory to restore into; without it one beside the backup, removed afterwards",
    .path)
  private static let loaded = Parameter<DatabaseLocation?>.optional(
    "--database", "url",
    text: "PostgreSQL: a database to load the dump into, which has no schema of ours yet", .postgres
  )

  static let backupVerify = Command(
    words: ["backup", "verify"],
    abstract: "Restores a backup into an empty directory and looks at it as a doctor does.",
    discussion: """
      Reads every byte of the backup and holds it against the manifest, then looks at what was restored: \
      whether SQLite finds it whole, whether every object that a document needs is there and as long as \
      it should be, and a sample of what is charged and owed. Objects are not copied where the disk can \
      link them, so room is needed for the database alone. Code 1 where anything is wrong. A dump of \
      PostgreSQL is loaded and looked at where --database names a database for it, which stays.
      """,
    arguments: [wanted],
    options: [scratch, loaded],
    answers: Check.shape,
    run: { invocation in
      try ScratchFolder.with(
        invocation[scratch], beside: invocation[wanted], named: "verify-\(Random.identifier())"
      ) { try verify(invocation, in: $0) }
    })

  private static func verify(_ invocation: Invocation, in directory: String) throws -> Answer {
    let restore = try Restore(of: invocation[wanted], into: directory, linksObjects: true)
    let progress = StagedProgress()
    let outcome = try restore.run(renew: Restored.renewHistory) { done, total in
      progress.set("restoring", done, of: total)
    }
    let restored = try Restored(restore, outcome, loadedInto: invocation[loaded])
    var checks = [digests(restore, restored.damage)]
    if let location = restored.database {
      var configuration = try DatabaseConfiguration(invocation.settings, of: location)
      let database = try Database.open(location, owning: .sync, .requiresSchema)
      defer { database.close() }
      try database.read { try configuration.settleCatalogue(reading: $0) }
      let doctor = Doctor(
        database: database, configuration: configuration,
        objects: try ObjectStore(directory: outcome.objectsDirectory),
        extent: Doctor.Extent(walksObjects: true, isDeep: true))
      checks += doctor.checksOfRestored()
    } else {
      checks.append(
        Check("database", .skipped, "the dump was not loaded; --database has it looked at"))
    }
    let found = answer(checks)
    return Answer(
      code: found.code, text: "\(restore.path), of \(restore.head.taken)\n\n" + found.text,
      json: found.json, notice: found.notice)
  }

  private static func digests(_ restore: Restore, _ damage: String?) -> Check {
    damage.map {
      Check("digests", .failed, $0, "make another backup while the servers still have them")
    }
      ?? Check(
        "digests", .ok,
        "database and \(restore.sum.objectCount) objects are what the manifest says")
  }
}
