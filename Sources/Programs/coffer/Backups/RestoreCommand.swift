import Accounts
import Backup
import Base
import CommandLine
import Configuration
import Doctor
import JSON
import Objects
import S3
import Storage

extension Command {
  private static let wanted = Parameter<String>.required(
    "backup", text: "a backup, or a directory of backups (the newest complete one)", .path)
  private static let into = Parameter<String>.required(
    "--into", "directory", text: "empty directory; created if missing", .path)
  private static let loaded = Parameter<DatabaseLocation?>.optional(
    "--database", "url", text: "PostgreSQL: empty database to load the dump into", .postgres)

  private static let store = Parameter<ObjectsLocation?>.optional(
    "--objects", "url", text: "other store for the objects, e.g. a bucket, as for COFFER_OBJECTS",
    .objects)

  static let restore = Command(
    words: ["restore"],
    abstract: "Restore a backup into an empty directory",
    discussion: """
      Writes <directory>/objects, then <directory>/database, and verifies digests on the way. With \
      --objects, the objects go to that store instead, which coffer-sync must not have used; \
      COFFER_OBJECTS_KEY has the keys of a bucket. After an interruption, empty the directory and start \
      again: objects that the store has already are not sent again. Nothing in use is touched. The settings for the servers are printed, without a password. A database of an \
      earlier version stays as it is until coffer migrate or a server migrates it.

      Clients see a new history and download everything again. Accounts that were erased since the backup \
      are back: run coffer account delete --now for each (docs/leaving.md). Deliveries since the backup \
      are missing: have the stores resend them, or use coffer subscription read. A PostgreSQL dump is \
      loaded by pg_restore into --database; without that option it is named and left alone.
      """,
    examples: [
      "coffer restore /var/backups/coffer --into /srv/coffer",
      "coffer restore /var/backups/coffer --into /srv/coffer --objects s3://my-bucket/new?region=eu-central-1",
    ],
    arguments: [wanted],
    options: [into, store, loaded],
    answers: [
      "backup": .text, "taken": .time, "database": .text, "objects": .text,
      "object_count": .integer, "damaged_count": .integer, "damaged": .list(.text),
    ],
    run: { invocation in
      let progress = StagedProgress()
      let now = try DatabaseConfiguration.clock(invocation.settings).now()
      let place = try invocation[store].map {
        try DatabaseConfiguration.objects($0, invocation.settings)
      }
      let objects = try place.map { Restore.Objects.stored(try unused($0)) } ?? .copied
      let restore = try Restore(of: invocation[wanted], into: invocation[into], objects, at: now)
      try restore.requirePlace(in: invocation[loaded])
      let outcome = try restore.run(renew: History.renew) { done, total in
        progress.set("restoring", done, of: total)
      }
      if case .damaged = outcome.database {
        throw CommandFailure(.refused, outcome.damage.joined(separator: "; "))
      }
      let database = try outcome.database(loadedInto: invocation[loaded], renew: History.renew)
      let stored = place?.location.description ?? "file://\(restore.objectsDirectory)"
      return answer(restore, outcome, database, stored)
    })

  /// A store without an owner: what a database in use has there must not be mixed with a backup's.
  private static func unused(_ place: ObjectsPlace.Part) throws -> any ObjectStore {
    let store = try ObjectStores.make(place)
    guard try store.owner() == nil else {
      throw CommandFailure(
        .refused, "\(place.location) is in use: restore into a new directory or prefix")
    }
    return store
  }

  private static func answer(
    _ restore: Restore, _ outcome: Restore.Outcome, _ database: DatabaseLocation?, _ objects: String
  ) -> Answer {
    let (name, place) =
      switch (database, outcome.database) {
      case (.sqlite(let directory)?, _): ("COFFER_DATABASE", "sqlite://\(directory)")
      case (.postgres(let url)?, _): ("COFFER_DATABASE", url.withoutPassword)
      case (nil, .dump(let path)), (nil, .sqlite(let path)), (nil, .damaged(let path)):
        ("dump", path)
      }
    return Answer(
      code: outcome.damagedCount > 0 ? .refused : .ok,
      text: """
        restored \(Printable.text(restore.path)) of \(restore.head.taken)
        \(name)=\(Printable.text(place))
        COFFER_OBJECTS=\(Printable.text(objects))
        \(counted(outcome.objectCount, "object")), \(ByteCount.text(restore.sum.byteCount))

        """,
      json: [
        "backup": .string(restore.path), "taken": .string(restore.head.taken.description),
        "database": .string(place), "objects": .string(objects),
        "object_count": .integer(outcome.objectCount),
        "damaged_count": .integer(outcome.damagedCount),
        "damaged": .array(outcome.damaged.map { .string($0.description) }),
      ],
      notice: outcome.damage.map { $0 + "; " }.joined()
        + "accounts erased since \(restore.head.taken) are back; before you open the servers, erase each "
        + "again: coffer account delete <account> --now (docs/leaving.md)")
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

extension Form where Value == ObjectsLocation {
  fileprivate static var objects: Form {
    Form { (text, name) throws(CommandFailure) in
      if let refusal = Surroundings.blank(around: text) {
        throw CommandFailure(.usage, "\(name) \(refusal)")
      }
      guard let location = ObjectsLocation(text) else {
        throw CommandFailure(.usage, "\(name) takes file:///<directory> or \(BucketAddress.form)")
      }
      return location
    }
  }
}

extension Form where Value == DatabaseLocation {
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
