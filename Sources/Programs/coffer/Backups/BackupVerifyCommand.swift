import Accounts
import Acts
import Backup
import Base
import CommandLine
import Configuration
import Doctor
import JSON
import Storage

extension Command {
  private static let wanted = Parameter<String>.required(
    "backup", text: "a backup, or a directory of backups (the newest complete one)", .path)
  private static let scratch = Parameter<String?>.optional(
    "--scratch", "directory",
    text: "empty directory to restore into (default: one next to the backup, removed afterwards)",
    .path)
  private static let loaded = Parameter<DatabaseLocation?>.optional(
    "--database", "url", text: "PostgreSQL: empty database to load the dump into", .postgres)

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
    let restore = try Restore(of: invocation[wanted], into: directory, .linked)
    try restore.requirePlace(in: invocation[loaded])
    let progress = StagedProgress()
    let outcome = try restore.run(renew: History.renew) { done, total in
      progress.set("restoring", done, of: total)
    }
    let taken = restore.head.taken
    let checks = try BackupChecks(of: restore, outcome, at: now).all(
      maxAge: invocation[maxAge], loadedInto: invocation[loaded], invocation.settings)
    let found = answer(
      checks,
      [
        .init("backup", .string(restore.path)), .init("taken", .string(taken.description)),
        .init("age_seconds", .integer((now - taken).milliseconds / 1000)),
      ])
    return found.adding([], heading: "\(Printable.text(restore.path)), of \(taken)\n\n")
  }
}
