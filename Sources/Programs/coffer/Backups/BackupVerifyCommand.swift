internal import Accounts
internal import Acts
internal import Backup
internal import Base
internal import CommandLine
internal import Configuration
internal import Doctor
internal import JSON
internal import Storage

extension Command {
  private static let wanted = Parameter<String>.required(
    "backup", text: "a backup, or a directory of backups (the newest complete one)", .path)
  private static let scratch = Parameter<String?>.optional(
    "--scratch", "directory",
    text:
      "empty directory to restore into (default: one next to the backup, removed afterwards)",
    .path)
  private static let loaded = Parameter<DatabaseLocation?>.optional(
    "--database", "url",
    text: "PostgreSQL: empty database to load the dump into", .postgres
  )

  private static let maxAge = Parameter<Instant.Span?>.optional(
    "--max-age", "span", text: "fail if the backup is older, e.g. 26h or 2d", .span)

  static let backupVerify = Command(
    words: ["backup", "verify"],
    abstract: "Restore a backup to scratch space and check it",
    discussion: """
      Reads every byte and compares it with the manifest. Then it checks the restored data: SQLite's \
      integrity, the presence and size of every object, and a sample of charges and entitlements. Objects \
      are hard-linked where the disk allows it, so you need space for the database only.

      The exit code is 1 if anything is wrong, if the backup's time is in the future, or if it is older \
      than --max-age. Damaged objects are recorded in the backup, and the next backup does not reuse them. \
      Later runs that left no backup are reported. A PostgreSQL dump is read by pg_restore. It is loaded \
      and checked only into a --database that you give; drop and create that database before the next run.
      """,
    examples: ["coffer backup verify /var/backups/coffer --max-age 26h"],
    arguments: [wanted],
    options: [scratch, loaded, maxAge],
    answers: Check.shape.adding([
      .init("backup", .text), .init("taken", .time), .init("age_seconds", .integer),
    ]),
    run: { invocation in
      try ScratchFolder.with(invocation[scratch], beside: invocation[wanted]) {
        try verify(invocation, in: $0)
      }
    })

  private static func verify(_ invocation: Invocation, in directory: String) throws -> Answer {
    let now = try DatabaseConfiguration.clock(invocation.settings).now()
    let restore = try Restore(of: invocation[wanted], into: directory, linksObjects: true)
    try restore.requirePlace(in: invocation[loaded])
    let progress = StagedProgress()
    let outcome = try restore.run(renew: Restored.renewHistory) { done, total in
      progress.set("restoring", done, of: total)
    }
    let (taken, age) = (restore.head.taken, now - restore.head.taken)
    let checks =
      [Self.age(age, invocation[maxAge])] + later(restore.unfinished)
      + [digests(restore, outcome)] + (try restored(restore, outcome, invocation))
    let found = answer(
      checks,
      [
        .init("backup", .string(restore.path)), .init("taken", .string(taken.description)),
        .init("age_seconds", .integer(age.milliseconds / 1000)),
      ])
    return Answer(
      code: found.code, text: "\(Printable.text(restore.path)), of \(taken)\n\n" + found.text,
      json: found.json, notice: found.notice)
  }

  private static func age(_ age: Instant.Span, _ most: Instant.Span?) -> Check {
    let ahead = Instant.Span(milliseconds: -age.milliseconds)
    guard ahead <= Restore.clockDifference else {
      return Check(
        "age", .failed,
        "it was made \(SpanText.text(ahead)) in the future by this clock: a clock was, or is, wrong",
        "set the clock, or remove this backup and name another one: it counts as the newest")
    }
    let text = "it was made \(SpanText.text(age)) ago"
    guard let most else {
      return Check("age", .skipped, text + "; --max-age says how old it may be")
    }
    return age > most
      ? Check("age", .failed, text, "find out why coffer backup has made none since")
      : Check("age", .ok, text)
  }

  /// Reports runs that left no backup, although a newer one should exist.
  private static func later(_ unfinished: [String]) -> [Check] {
    guard let first = unfinished.first else { return [] }
    return [
      Check(
        "later runs", .warning,
        "\(counted(unfinished.count, "run")) that began later left no backup, or none yet: \(first)",
        "check how coffer backup ended")
    ]
  }

  private static func digests(_ restore: Restore, _ outcome: Restore.Outcome) -> Check {
    var damage = outcome.objectDamage.map { [$0] } ?? []
    if case .damaged(let why) = outcome.database { damage.insert(why, at: 0) }
    guard !damage.isEmpty else {
      return Check(
        "digests", .ok,
        "database and \(counted(restore.sum.objectCount, "object")) match the manifest")
    }
    guard outcome.hasChanged else {
      return Check(
        "digests", .failed, damage.joined(separator: "; "),
        "make another backup while the servers still have them")
    }
    // If nothing can be written into the backup, --check does the same.
    _ = restore.noteDamage()
    return Check(
      "digests", .failed, damage.joined(separator: "; "),
      "coffer backup \(restore.home) --check copies them again while the servers still have them; "
        + "earlier backups may share the damage")
  }

  /// What a doctor finds in the restored database. A database that cannot be used is a finding, too.
  private static func restored(
    _ restore: Restore, _ outcome: Restore.Outcome, _ invocation: Invocation
  ) throws -> [Check] {
    if case .damaged = outcome.database {
      return [Check("database", .skipped, "it is incomplete, so it was not checked")]
    }
    do {
      if case .dump(let path) = outcome.database {
        try PostgresTools.require(PostgresTools.read, of: path)
      }
      let restored = try Restored(restore, outcome, loadedInto: invocation[loaded])
      guard let location = restored.database else {
        return [
          Check(
            "database", .warning, "pg_restore read the dump, which was not loaded",
            "--database <url> loads it into an empty database and checks it")
        ]
      }
      var configuration = try DatabaseConfiguration(invocation.settings, of: location)
      // A copy only for this check, so the schema of an earlier version is brought up to date in it.
      let database = try Database.open(location, owning: .sync)
      defer { database.close() }
      try database.read { try configuration.settleCatalogue(reading: $0) }
      return Doctor(
        database: database, configuration: configuration,
        objects: try ObjectStore(directory: outcome.objectsDirectory),
        extent: Doctor.Extent(walksObjects: true, isDeep: true)
      ).checksOfRestored()
    } catch let error as ConfigurationError {
      throw error
    } catch {
      return [
        Check(
          "database", .failed, "it cannot be used: \(CommandFailure(of: error).text)",
          "make another backup, and verify that")
      ]
    }
  }
}
