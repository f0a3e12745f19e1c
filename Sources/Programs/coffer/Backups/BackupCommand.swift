import Accounts
import Acts
import Backup
import Base
import CommandLine
import Configuration
import Storage
import Sync
import Tiers
import S3

extension Command {
  private static let directory = Parameter<String>.required(
    "directory", text: "directory of the backups; created if missing", .path)
  private static let dump = Parameter<String?>.optional(
    "--dump", "command",
    text: "PostgreSQL: shell command instead of pg_dump; dumps $COFFER_DUMP_OF to $COFFER_DUMP",
    .text)

  private static let check = Parameter<Bool>.flag(
    "--check", text: "verify reused objects and copy damaged ones again")
  private static let goesOn = Parameter<Bool>.flag(
    "--go-on", text: "after a restore: continue after backups of the earlier history")

  static let backup = Command(
    words: ["backup"],
    abstract: "Back up the database and objects while servers run",
    discussion: """
      Each run writes a complete backup in a new directory, named by its time: the database at one moment, \
      every object it refers to, and a manifest with SHA-256 digests, written last. Objects of an earlier \
      backup are hard-linked, not copied; damage to such a file affects both. With --check, or after \
      coffer backup verify found damage, the run reads them first. You can remove any backup; none depends \
      on another. If a run is interrupted it leaves no backup, and the next run reuses what it copied.

      A backup directory belongs to one installation. If its newest backup comes from another, the command \
      refuses to run.

      Not in a backup: COFFER_SEALING_KEYS, which you need to read stored deliveries, and the \
      configuration. Keep both elsewhere. The plan catalogue is in the database (coffer plan show). \
      PostgreSQL is dumped with its own pg_dump, whose command line every user of the machine can see: \
      keep the password in ~/.pgpass, not in COFFER_DATABASE.
      """,
    examples: ["coffer backup /var/backups/coffer"],
    arguments: [directory],
    options: [dump, check, goesOn],
    answers: outcome.item,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        guard let place = configuration.objects else {
          throw CommandFailure(
            .configuration,
            "\(SyncSettings.objects.name): is required, e.g. \(SyncSettings.objects.example)")
        }
        if case .sqlite = configuration.database, invocation[dump] != nil {
          throw CommandFailure(
            .usage, "--dump is for PostgreSQL; SQLite is copied by coffer itself")
        }
        let backup = try BackupRun(
          into: invocation[directory], of: database, at: configuration.database,
          dumpingBy: invocation[dump], try ObjectStores.open(place),
          installation: try database.read(History.id), goesOn: invocation[goesOn],
          checksEarlier: invocation[check],
          contentByteCount: try Account.contentByteCount(
            database, fee: configuration.catalogue.metadataFeeByteCount),
          apartFrom: place.directories)
        let progress = StagedProgress()
        return answer(
          try backup.run(at: configuration.clock.now()) { stage, done, total in
            progress.set(stage.rawValue, done, of: total)
          })
      }
    })

  private static var outcome: Listing<BackupRun.Outcome> {
    Listing([
      .text("backup") { $0.path }, .time("taken") { $0.head.taken },
      .integer("database_bytes") { $0.databaseByteCount },
      .integer("objects") { $0.sum.objectCount }, .integer("object_bytes") { $0.sum.byteCount },
      .integer("missing_objects") { $0.sum.missingCount },
      .integer("copied_objects") { $0.copiedCount },
      .integer("copied_bytes") { $0.copiedByteCount },
      .text("manifest_sha256") { Hex.encode($0.digest) },
    ])
  }

  private static func answer(_ made: BackupRun.Outcome) -> Answer {
    let (head, sum) = (made.head, made.sum)
    var answer = Answer(
      text: """
        backup    \(Printable.text(made.path))
        of        \(head.taken)
        database  \(ByteCount.text(made.databaseByteCount))
        objects   \(sum.objectCount.grouped), \(ByteCount.text(sum.byteCount))
        copied    \(made.copiedCount.grouped), \(ByteCount.text(made.copiedByteCount))
        manifest  sha256 \(Hex.encode(made.digest))

        """, json: outcome.json(made))
    if sum.missingCount > 0 { answer.code = .refused }
    let notices = [
      sum.missingCount > 0
        ? "missing or damaged, both in the store and in this backup: "
          + "\(counted(sum.missingCount, "object")) that documents need; coffer doctor --objects names them"
        : nil,
      made.ahead.map {
        "\($0) has a later time, so it counts as the newest: set the clock if it is wrong, otherwise remove that backup"
      },
    ].compactMap { $0 }
    answer.notice = notices.isEmpty ? nil : notices.joined(separator: "; ")
    return answer
  }
}

extension BackupRun.Outcome {
  fileprivate var databaseByteCount: Int64 { head.files.values.reduce(0) { $0 + $1.byteCount } }
}
