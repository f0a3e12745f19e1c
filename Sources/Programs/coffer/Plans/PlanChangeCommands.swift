internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Repair
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let file = Parameter<String>.required(
    "file", text: "catalogue file, as for COFFER_PLANS", .path)
  private static let limit = Parameter<Int>.limit(of: " who lose and who gain")

  static let planDiff = Command(
    words: ["plan", "diff"],
    abstract: "Show how another catalogue would change accounts' quotas",
    discussion: """
      Derives every account in memory under the other catalogue, and changes nothing. The list has each \
      account whose quota would change from now on, and when first. Progress is on stderr. Apply the \
      catalogue with coffer plan apply.
      """,
    examples: ["coffer plan diff plans.json"],
    arguments: [file],
    options: [limit],
    answers: DifferenceAnswer.shape,
    run: { invocation in
      let catalogue = try catalogue(at: invocation[file], invocation)
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let ledger = try ledgerOfRecord(database, configuration)
        let progress = Progress(
          "comparing", .count(of: "accounts"),
          of: try database.read { try CatalogueDifference.accountCount(reading: $0) })
        let difference = try CatalogueDifference(
          from: ledger, to: catalogue, of: database, at: now, listed: invocation[limit]
        ) { progress.done = Int64($0) }
        var answer = DifferenceAnswer.answer(
          difference, from: ledger.rules.catalogue, to: catalogue)
        answer.notice = try database.read { try sharedVersion(catalogue, reading: $0) }
        return answer
      }
    })

  static let planApply = Command(
    words: ["plan", "apply"],
    abstract: "Apply a plan catalogue and derive all entitlements again",
    discussion: """
      The previous catalogue is kept: see coffer plan history and coffer plan show. Running coffer-billing \
      servers use the new one at once. Programs that start with another file in COFFER_PLANS are refused, \
      so give them this one, or none.

      coffer-sync reads the free plan, limits and the fee when it starts: the command names what to \
      restart. After a change of the fee, run coffer usage recount --all. If a run is interrupted, run it \
      again with --yes.
      """,
    examples: ["coffer plan apply plans.json --reason \"prices of 2027\" --yes"],
    arguments: [file],
    options: Act.options,
    answers: .oneOf([
      ["digest": .text, "done": .bool],
      Act.answers(["digest": .text, "derived": .integer, "replaced_by": .text]),
    ]),
    run: { invocation in
      let catalogue = try catalogue(at: invocation[file], invocation)
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let before = try ledgerOfRecord(database, configuration)
        let ledger = Ledger(
          stores: .known, rules: before.rules.replacing(catalogue), for: .command)
        let (record, isUnfinished) = try database.read { reader in
          (
            try CatalogueOfRecord.find(reading: reader),
            try ledger.whyIncomparable(reading: reader) == .unfinished
          )
        }
        let isRecord = record?.digest == catalogue.digest
        var answer = Answer(
          text: "\(catalogue.version) is the catalogue of record already\n",
          json: ["digest": .string(catalogue.digest), "done": false])
        if !isRecord || isUnfinished {
          let now = configuration.clock.now()
          let left = try database.read { try ledger.outdatedCount(reading: $0) }
          answer = try Act(invocation, on: database).whenConfirmed(at: now) { transaction in
            isRecord
              ? try goOn(with: catalogue, ledger, left: left, reading: transaction)
              : try put(catalogue, ledger, at: now, in: transaction)
          }
          guard answer.code == .ok else { return answer }
          answer = try derive(under: catalogue, ledger, database, configuration.clock, answer)
        }
        var text = answer.text
        if let restart = before.rules.catalogue.restart(for: catalogue) { text += restart + "\n" }
        return Answer(
          text: text, json: answer.json,
          notice: notice(configuration.givenCatalogue, beside: catalogue, invocation.settings))
      }
    })

  /// Makes the catalogue the one of record.
  private static func put(
    _ catalogue: Catalogue, _ ledger: Ledger, at now: Instant, in transaction: Transaction
  ) throws -> Act.Effect {
    let record = try CatalogueOfRecord.find(reading: transaction)
    if let record, record.digest == catalogue.digest {
      throw CommandFailure(
        .refused, "\(catalogue.version) is the catalogue of record since \(record.since)")
    }
    if let why = try sharedVersion(catalogue, reading: transaction) {
      throw CommandFailure(.refused, why)
    }
    try CatalogueOfRecord.put(catalogue, after: record, at: now, in: transaction)
    try ledger.takeForce(at: now, in: transaction)
    return Act.Effect(
      subject: "catalogue \(catalogue.version)",
      before: record.map { state($0.catalogue) } ?? ["catalogue": nil, "digest": nil],
      after: state(catalogue), text: "applied  \(catalogue.digest)\n",
      members: [.init("digest", .string(catalogue.digest))])
  }

  /// Why its version cannot be used: it would mean two catalogues in history, schedules and figures.
  private static func sharedVersion(
    _ catalogue: Catalogue, reading database: some Queryable
  ) throws -> String? {
    try CatalogueOfRecord.namesake(of: catalogue, reading: database).map { other in
      "the version \(catalogue.version) is that of catalogue \(other.number), which differs; "
        + "give this one another version"
    }
  }

  /// Derives the rest under the catalogue, if that was interrupted.
  private static func goOn(
    with catalogue: Catalogue, _ ledger: Ledger, left: Int64, reading transaction: Transaction
  ) throws -> Act.Effect {
    guard try ledger.whyIncomparable(reading: transaction) == .unfinished else {
      throw CommandFailure(.refused, "everything has been derived meanwhile; check again")
    }
    let rest = left == 0 ? "schedules" : counted(left, "subscription")
    return Act.Effect(
      subject: "catalogue \(catalogue.version)", before: ["derived": .string("all but \(rest)")],
      after: ["derived": "all"], members: [.init("digest", .string(catalogue.digest))])
  }

  /// Another `plan apply` may replace the catalogue meanwhile. It derives everything that this one has not.
  private static func derive(
    under catalogue: Catalogue, _ ledger: Ledger, _ database: Database, _ clock: Clock,
    _ answer: Answer
  ) throws -> Answer {
    func replacement() throws -> CatalogueOfRecord? {
      let record = try database.read { try CatalogueOfRecord.find(reading: $0) }
      return record?.digest == catalogue.digest ? nil : record
    }
    func replaced(by other: CatalogueOfRecord) -> Answer {
      answer.adding(
        "replaced since by \(other.version), catalogue \(other.number), which applies instead\n",
        .init("replaced_by", .string(other.digest)))
    }
    let progress = Progress(
      "deriving", .count(of: "subscriptions"),
      of: try database.read { try ledger.outdatedCount(reading: $0) })
    do {
      let count = try ledger.deriveAnew(on: database, clock: clock) { count, _ in
        progress.done = Int64(count)
      }
      if let other = try replacement() { return replaced(by: other) }
      return answer.adding(
        "derived  \(counted(count, "subscription"))\n", .init("derived", .integer(Int64(count))))
    } catch let error as ConfigurationError {
      guard let other = try replacement() else { throw error }
      return replaced(by: other)
    }
  }

  /// A notice that programs with the given catalogue are refused, because another is the one of record.
  static func notice(
    _ given: Catalogue?, beside record: Catalogue, _ settings: Settings
  ) -> String? {
    guard let given, given.digest != record.digest else { return nil }
    let name = SharedSettings.plans.name
    let place = settings.values[name].map { " (\($0.origin.text))" } ?? ""
    return
      "\(name)\(place) names another catalogue, \(given.version): commands and servers with it "
      + "are refused until it names this one or is removed"
  }

  /// A ledger with the rules that the servers derive by.
  private static func ledgerOfRecord(
    _ database: Database, _ configuration: DatabaseConfiguration
  ) throws -> Ledger {
    let rules = try database.read { reader in
      let own = LedgerRules(configuration)
      let inForce = try Ledger(stores: .known, rules: own, for: .command)
        .rulesInForce(reading: reader)
      // The texts for people are not among the rules.
      let record = try CatalogueOfRecord.find(reading: reader)?.catalogue
      return inForce.replacing(record ?? inForce.catalogue)
    }
    return Ledger(stores: .known, rules: rules, for: .command)
  }

  private static func catalogue(
    at path: String, _ invocation: Invocation
  ) throws -> Catalogue {
    let bytes = try InputFile.bytes(at: path)
    let catalogue: Catalogue
    do throws(CatalogueFile.Failure) {
      catalogue = try CatalogueFile.catalogue(of: bytes)
    } catch {
      throw CommandFailure(.refused, "\(path) \(error.text)")
    }
    var reader = SettingsReader(invocation.settings, for: .command)
    reader.checkProducts(of: catalogue)
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return catalogue
  }

  private static func state(_ catalogue: Catalogue) -> JSONValue {
    let sizes = ([catalogue.free] + catalogue.paid).map { plan in
      JSONValue.Member("plan \(plan.id)", .integer(plan.byteCount))
    }
    return .object(
      [
        .init("catalogue", .string(catalogue.version)), .init("digest", .string(catalogue.digest)),
        .init("fee", .integer(catalogue.metadataFeeByteCount)),
      ] + sizes)
  }
}

extension Answer {
  /// The answer with what happened after the act.
  fileprivate func adding(_ line: String, _ member: JSONValue.Member) -> Answer {
    guard case .object(let members) = json else { preconditionFailure("an act answers an object") }
    return Answer(text: text + line, json: .object(members + [member]))
  }
}
