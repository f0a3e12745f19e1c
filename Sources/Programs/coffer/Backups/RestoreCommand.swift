internal import Accounts
internal import Backup
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  private static let wanted = Parameter<String>.required(
    "backup", text: "a backup, or a directory of backups (the newest complete one)", .path)
  private static let into = Parameter<String>.required(
    "--into", "directory", text: "empty directory; created if missing", .path)
  private static let loaded = Parameter<DatabaseLocation?>.optional(
    "--database", "url",
    text: "PostgreSQL: empty database to load the dump into",
    .postgres)

  static let restore = Command(
    words: ["restore"],
    abstract: "Restore a backup into an empty directory",
    discussion: """
      Writes <directory>/objects, then <directory>/database, and verifies digests on the way. Nothing in \
      use is touched. The settings for the servers are printed, without a password. A database of an \
      earlier version stays as it is until coffer migrate or a server migrates it.

      Clients see a new history and download everything again. Accounts that were erased since the backup \
      are back: run coffer account delete --now for each (docs/leaving.md). Deliveries since the backup \
      are missing: have the stores resend them, or use coffer subscription read. A PostgreSQL dump is \
      loaded by pg_restore into --database; without that option it is named and left alone.
      """,
    examples: ["coffer restore /var/backups/coffer --into /srv/coffer"],
    arguments: [wanted],
    options: [into, loaded],
    answers: [
      "backup": .text, "taken": .time, "database": .text, "objects": .text,
      "object_count": .integer, "damaged_count": .integer, "damaged": .list(.text),
    ],
    run: { invocation in
      let progress = StagedProgress()
      let now = try DatabaseConfiguration.clock(invocation.settings).now()
      let restore = try Restore(of: invocation[wanted], into: invocation[into], at: now)
      try restore.requirePlace(in: invocation[loaded])
      let outcome = try restore.run(renew: Restored.renewHistory) { done, total in
        progress.set("restoring", done, of: total)
      }
      return try Restored(restore, outcome, loadedInto: invocation[loaded]).answer
    })
}

/// The result of a restoration, as a command reports it.
struct Restored {
  private let restore: Restore
  private let outcome: Restore.Outcome
  /// The location of the usable database; nil for a dump that was not loaded.
  let database: DatabaseLocation?

  /// Loads a dump if there is one and a database for it. Throws if the database is damaged.
  init(
    _ restore: Restore, _ outcome: Restore.Outcome, loadedInto database: DatabaseLocation?
  ) throws {
    self.restore = restore
    self.outcome = outcome
    switch (outcome.database, database) {
    case (.sqlite(let directory), _): self.database = .sqlite(directory: directory)
    case (.dump(let path), .postgres(let url)?):
      try PostgresTools.run(
        PostgresTools.load, ["COFFER_DUMP": path, "COFFER_DUMP_INTO": url.text])
      try Self.renewHistory(of: .postgres(url: url))
      self.database = .postgres(url: url)
    case (.dump, _): self.database = nil
    case (.damaged(let why), _):
      throw CommandFailure(.refused, outcome.objectDamage.map { "\(why); \($0)" } ?? why)
    }
  }

  static func renewHistory(in directory: String) throws {
    try renewHistory(of: .sqlite(directory: directory))
  }

  /// Earlier cursors of clients do not fit what was restored.
  private static func renewHistory(of location: DatabaseLocation) throws {
    let database = try Database.open(location, owning: .sync, .acceptsEarlier)
    defer { database.close() }
    try History.renew(database)
  }

  var answer: Answer {
    let (name, place) =
      switch (database, outcome.database) {
      case (.sqlite(let directory)?, _): ("COFFER_DATABASE", "sqlite://\(directory)")
      case (.postgres(let url)?, _): ("COFFER_DATABASE", url.withoutPassword)
      case (nil, .dump(let path)), (nil, .sqlite(let path)), (nil, .damaged(let path)):
        ("dump", path)
      }
    var answer = Answer(
      text: """
        restored \(Printable.text(restore.path)) of \(restore.head.taken)
        \(name)=\(Printable.text(place))
        COFFER_OBJECTS=file://\(Printable.text(outcome.objectsDirectory))
        \(counted(outcome.objectCount, "object")), \(ByteCount.text(restore.sum.byteCount))

        """,
      json: [
        "backup": .string(restore.path), "taken": .string(restore.head.taken.description),
        "database": .string(place), "objects": .string("file://\(outcome.objectsDirectory)"),
        "object_count": .integer(outcome.objectCount),
        "damaged_count": .integer(outcome.damagedCount), "damaged": damaged,
      ])
    if outcome.damagedCount > 0 { answer.code = .refused }
    answer.notice =
      (outcome.objectDamage.map { $0 + "; " } ?? "")
      + "accounts erased since \(restore.head.taken) are back; before you open the servers, erase each "
      + "again: coffer account delete <account> --now (docs/leaving.md)"
    return answer
  }

  private var damaged: JSONValue {
    .array(outcome.damaged.map { .string($0.description) })
  }
}

extension Restore {
  /// Refuses a database for anything except a dump, and one that already has a schema of ours.
  func requirePlace(in database: DatabaseLocation?) throws {
    guard let database else { return }
    guard isDump else {
      throw CommandFailure(
        .usage, "--database is for a backup of PostgreSQL; this one is of SQLite")
    }
    if let schema = try Database.schemas(at: database).first {
      throw CommandFailure(
        .usage,
        "the database of --database already has a schema \(schema): dropdb and createdb it")
    }
  }
}

extension Restore.Outcome {
  /// Nil if all objects are as they were written.
  var objectDamage: String? {
    guard let first = damaged.first else { return nil }
    return
      "damaged or missing in the backup: \(counted(damagedCount, "object")), the first is \(first)"
  }
}

extension Form where Value == DatabaseLocation {
  /// A PostgreSQL database.
  static var postgres: Form {
    Form { (text, name) throws(CommandFailure) in
      if let refusal = Surroundings.blank(around: text) {
        throw CommandFailure(.usage, "\(name) \(refusal)")
      }
      if let location = DatabaseLocation(text), case .postgres = location { return location }
      throw CommandFailure(.usage, "\(name) takes postgres://<server>/<database>")
    }
  }
}
