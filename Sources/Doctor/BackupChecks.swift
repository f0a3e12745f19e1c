import Accounts
import Acts
package import Backup
package import Base
import CommandLine
package import Configuration
package import Storage

/// Checks a backup by what was restored of it for that purpose.
package struct BackupChecks {
  private let restore: Restore
  private let outcome: Restore.Outcome
  private let now: Instant

  package init(of restore: Restore, _ outcome: Restore.Outcome, at now: Instant) {
    (self.restore, self.outcome, self.now) = (restore, outcome, now)
  }

  /// A dump is loaded into `database` and checked there; without one it is only read.
  package func all(
    maxAge: Instant.Span?, loadedInto database: DatabaseLocation?, _ settings: Settings
  ) throws -> [Check] {
    [age(atMost: maxAge)] + later + [digests()] + (try restored(loadedInto: database, settings))
  }

  private func age(atMost most: Instant.Span?) -> Check {
    let taken = restore.head.taken
    let (age, ahead) = (now - taken, taken - now)
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
  private var later: [Check] {
    guard let first = restore.unfinished.first else { return [] }
    return [
      Check(
        "later runs", .warning,
        "\(counted(restore.unfinished.count, "run")) that began later left no backup, or none yet: \(first)",
        "check how coffer backup ended")
    ]
  }

  private func digests() -> Check {
    let damage = outcome.damage
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
  private func restored(
    loadedInto given: DatabaseLocation?, _ settings: Settings
  ) throws -> [Check] {
    if case .damaged = outcome.database {
      return [Check("database", .skipped, "it is incomplete, so it was not checked")]
    }
    do {
      try outcome.requireWholeDump()
      guard let location = try outcome.database(loadedInto: given, renew: History.renew) else {
        return [
          Check(
            "database", .warning, "pg_restore read the dump, which was not loaded",
            "--database <url> loads it into an empty database and checks it")
        ]
      }
      var configuration = try DatabaseConfiguration(settings, of: location)
      // A copy only for this check, so the schema of an earlier version is brought up to date in it.
      let database = try Database.open(location, owning: .sync)
      defer { database.close() }
      try database.read { try configuration.settleCatalogue(reading: $0) }
      return Doctor(
        database: database, configuration: configuration, objects: outcome.objects,
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

extension Restore.Outcome {
  /// What is damaged or missing; empty if everything is as it was written.
  package var damage: [String] {
    var damage: [String] = []
    if case .damaged(let why) = database { damage.append(why) }
    if let first = damaged.first {
      damage.append(
        "damaged or missing in the backup: \(counted(damagedCount, "object")), the first is \(first)"
      )
    }
    return damage
  }
}
