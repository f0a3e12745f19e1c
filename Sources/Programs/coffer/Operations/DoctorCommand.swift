internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import Doctor
internal import JSON
internal import Storage
internal import Tiers

extension Command {
  private static let all = Parameter<Bool>.flag(
    "--all", text: "recount and derive every account, not a sample")
  private static let walk = Parameter<Bool>.flag(
    "--objects",
    text: "check every object, and find unreferenced ones, not a sample")
  private static let deep = Parameter<Bool>.flag(
    "--deep", text: "run SQLite's full integrity check")
  private static let online = Parameter<Bool>.flag(
    "--online", text: "send a test request to each store")
  private static let fix = Parameter<Bool>.flag(
    "--fix",
    text: "repair what is safe: permissions, usage, schedules, leftovers, unreferenced objects")

  private static let shrink = Parameter<Bool>.flag(
    "--shrink", text: "with --fix, also repair schedules where a quota shrinks")

  static let doctor = Command(
    words: ["doctor"],
    abstract: "Check an installation while its servers run",
    discussion: """
      Each check prints one line: what it found and what to do. If a check fails, the exit code is 1; a \
      warning does not change it. Without options the command checks a sample and takes a few seconds. Run \
      it as the servers' user, with their settings.

      --fix repairs what is safe and records it in the audit log. It deletes unreferenced objects only if \
      they are older than a day, no backup is running, and coffer-sync has used the object store with this \
      database for a day. It leaves schedules that would shrink an account's quota, and names the account; \
      --shrink repairs those too.
      """,
    examples: [
      "coffer doctor",
      "coffer doctor --all --fix",
    ],
    options: [all, walk, deep, online, fix, shrink] + Act.handyOptions,
    answers: Check.shape.adding([.init("audit", .text, isOptional: true)]),
    run: { invocation in
      guard invocation[fix] || !invocation[shrink] else {
        throw CommandFailure(.usage, "--shrink is for --fix")
      }
      var configuration = try DatabaseConfiguration(invocation.settings)
      var extent = Doctor.Extent()
      extent.takesAll = invocation[all]
      extent.walksObjects = invocation[walk]
      extent.isDeep = invocation[deep]
      extent.shrinksCaps = invocation[shrink]
      var (checks, noted): ([Check], [JSONValue.Member])
      do {
        let database = try Database.open(configuration.database, owning: .sync, .requiresSchema)
        defer { database.close() }
        try database.read { try configuration.takeCatalogueOfRecord(reading: $0) }
        if invocation[fix] { extent.fixing = try Act(invocation, on: database) }
        let (objects, place) = objectStore(configuration)
        let doctor = Doctor(
          database: database, configuration: configuration, objects: objects, extent: extent,
          secretFiles: invocation.settings.secretFiles)
        checks = doctor.checks() + [catalogue(configuration)] + place
        noted = try extent.fixing.map { try note(checks, $0, at: doctor.now) } ?? []
      } catch let error as DatabaseError {
        (checks, noted) = ([unusable(error)], [])
      }
      if invocation[online] { checks += try Doctor.stores(invocation.settings, configuration) }
      return answer(checks, noted)
    })

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
    case .unavailable:
      Check(
        "database", .failed, error.description,
        "check the disk or the database server; coffer restore recovers damaged data"
      )
    case .busy, .constraint, .statement: Check("database", .failed, error.description)
    }
  }

  /// Records the repairs in the audit log.
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
  ) -> (ObjectStore?, [Check]) {
    guard let directory = configuration.objectsDirectory else { return (nil, []) }
    do throws(ObjectStoreError) {
      return (try ObjectStore(existing: directory), [])
    } catch {
      return (
        nil,
        [
          Check(
            "object store", .failed, CommandFailure(of: error).text,
            "mount its disk, or give this command coffer-sync's COFFER_OBJECTS")
        ]
      )
    }
  }

  static func answer(_ checks: [Check], _ more: [JSONValue.Member] = []) -> Answer {
    var table = Table(("CHECK", .left), ("STATE", .left), ("FOUND", .left))
    for check in checks {
      table.add(
        check.name, check.state.rawValue, check.text, tint: check.state == .failed ? .bad : nil)
    }
    let remedies = checks.filter { !$0.remedy.isEmpty }.map {
      Printable.text("\($0.name): \($0.remedy)") + "\n"
    }
    let failed = checks.count { $0.state == .failed }
    var answer = Answer(
      text: table.text + (remedies.isEmpty ? "" : "\nto do:\n" + remedies.joined()),
      json: .object(
        [
          .init("failed", .integer(Int64(failed))), .init("checks", .array(checks.map(\.json))),
        ] + more))
    if failed > 0 {
      answer.code = .refused
      answer.notice = failed == 1 ? "1 check failed" : "\(failed) checks failed"
    }
    return answer
  }
}
