package import Acts
import Base
import CommandLine
package import Configuration
package import JSON
import Objects
package import Storage
import Tiers
import S3

/// All checks of an installation by its settings, even if its database cannot be used.
package struct Examination {
  package private(set) var checks: [Check]
  /// What the answer has in addition, if repairs were made.
  package private(set) var noted: [JSONValue.Member] = []

  /// `fixing` is the act that makes safe repairs; nil if everything stays as it is.
  package init(
    _ settings: Settings, _ given: Doctor.Extent, asksStores: Bool,
    fixing: ((Database) throws -> Act)?
  ) throws {
    var configuration = try DatabaseConfiguration(settings)
    do {
      let database = try Database.open(configuration.database, owning: .sync, .requiresSchema)
      defer { database.close() }
      try database.read { try configuration.takeCatalogueOfRecord(reading: $0) }
      var extent = given
      extent.fixing = try fixing?(database)
      let (objects, place) = Self.objectStore(configuration)
      let doctor = Doctor(
        database: database, configuration: configuration, objects: objects, extent: extent,
        secretFiles: settings.secretFiles)
      checks = doctor.checks() + [Self.catalogue(configuration)] + place
      if let act = extent.fixing {
        do { noted = try Self.note(checks, act, at: doctor.now) } catch let error as DatabaseError {
          // What was repaired, perhaps on a full disk, is reported all the same.
          checks.append(
            Check("audit", .failed, "repairs could not be recorded: \(error.description)"))
        }
      }
    } catch let error as DatabaseError {
      (checks, noted) = ([Self.unusable(error)], [])
    }
    if asksStores { checks += try Doctor.stores(settings, configuration) }
  }

  /// Checks that programs that start with these settings use the catalogue in force.
  private static func catalogue(_ configuration: DatabaseConfiguration) -> Check {
    let record = configuration.catalogue
    guard let given = configuration.givenCatalogue, given.digest != record.digest else {
      return Check("catalogue", .ok, "\(record.version), the catalogue of record")
    }
    let name = SharedSettings.plans.name
    return Check(
      "catalogue", .failed,
      "\(name) is \(given.version), and \(record.version) is the catalogue of record: servers do not start",
      "name the file of that one in \(name), or remove the setting")
  }

  private static func unusable(_ error: DatabaseError) -> Check {
    switch error {
    case .migration(let problem, let remedy): Check("database", .failed, problem, remedy)
    case .forbidden(let problem):
      Check("database", .failed, problem, "run it as the servers' user or role")
    case .unavailable, .uncertain:
      Check(
        "database", .failed, error.description,
        "check the disk or the database server; coffer restore recovers damaged data")
    case .busy, .constraint, .statement: Check("database", .failed, error.description)
    }
  }

  /// Records the repairs in the audit log. Returns the members that report the entry.
  private static func note(
    _ checks: [Check], _ act: Act, at now: Instant
  ) throws -> [JSONValue.Member] {
    let repairs = checks.filter(\.isRepair).map {
      JSONValue.Member($0.name, .string($0.text))
    }
    guard !repairs.isEmpty else { return [] }
    let noted = try act.atOnce(at: now) { _ in
      Act.Effect(subject: "the installation", before: .object([]), after: .object(repairs))
    }
    guard case .object(let members) = noted.json else { return [] }
    return members
  }

  private static func objectStore(
    _ configuration: DatabaseConfiguration
  ) -> ((any ObjectStore)?, [Check]) {
    guard let place = configuration.objects else { return (nil, []) }
    do throws(ObjectStoreError) {
      return (try ObjectStores.open(place), [])
    } catch {
      return (
        nil,
        [
          Check(
            "object store", .failed, CommandFailure(of: error).text,
            place.isDistant
              ? "give this command coffer-sync's COFFER_OBJECTS and keys, and see whether the service answers"
              : "mount its disk, or give this command coffer-sync's COFFER_OBJECTS")
        ]
      )
    }
  }
}
