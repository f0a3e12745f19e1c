internal import Base
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  private static let file = Parameter<String>.required(
    "file", text: "a catalogue of plans, as COFFER_PLANS names one", .path)
  private static let limit = Parameter<Int>.limit(of: " who lose and who gain")

  static let planDiff = Command(
    words: ["plan", "diff"],
    abstract: "Says who would gain and lose what by another catalogue.",
    discussion: """
      Everything is derived under it in memory, account by account, and nothing is changed: which \
      account's cap would differ from now on, and when first. Progress is on stderr. coffer plan \
      apply makes it the catalogue of record.
      """,
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
        return DifferenceAnswer.answer(difference, from: ledger.rules.catalogue, to: catalogue)
      }
    })

  static let planApply = Command(
    words: ["plan", "apply"],
    abstract: "Makes a catalogue the one of record, and derives everything under it.",
    discussion: """
      The one before is kept: coffer plan history lists them, coffer plan show writes one as its file. \
      Running servers of coffer-billing follow at once. Programs that start with another file in \
      COFFER_PLANS are refused from then on, so give them this one, or none. coffer-sync takes the free plan, \
      limits and the fee from its start: it says where that is to be restarted, and after another fee call \
      coffer usage recount --all. What it was broken off in goes on when it is called again.
      """,
    arguments: [file],
    options: Act.options,
    answers: .oneOf([
      ["digest": .text, "done": .bool], Act.answers(["digest": .text]),
    ]),
    run: { invocation in
      let catalogue = try catalogue(at: invocation[file], invocation)
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let before = try ledgerOfRecord(database, configuration)
        let ledger = Ledger(
          stores: .known, rules: before.rules.replacing(catalogue), for: .command)
        let record = try database.read { try CatalogueOfRecord.find(reading: $0) }
        var answer = Answer(
          text: "\(catalogue.version) is the catalogue of record already\n",
          json: ["digest": .string(catalogue.digest), "done": false])
        if record?.digest != catalogue.digest {
          let now = configuration.clock.now()
          answer = try Act(invocation, on: database).whenConfirmed(at: now) { transaction in
            let record = try CatalogueOfRecord.find(reading: transaction)
            try CatalogueOfRecord.put(catalogue, after: record, at: now, in: transaction)
            try ledger.takeForce(at: now, in: transaction)
            return Act.Effect(
              subject: "catalogue \(catalogue.version)",
              before: record.map { state($0.catalogue) } ?? ["catalogue": nil, "digest": nil],
              after: state(catalogue), text: "applied  \(catalogue.digest)\n",
              members: [.init("digest", .string(catalogue.digest))])
          }
          guard answer.code == .ok else { return answer }
        }
        let progress = Progress(
          "deriving", .count(of: "subscriptions"),
          of: try database.read { try ledger.outdatedCount(reading: $0) })
        _ = try ledger.deriveAnew(on: database, clock: configuration.clock) { count, _ in
          progress.done = Int64(count)
        }
        var text = answer.text
        if let restart = before.rules.catalogue.restart(for: catalogue) { text += restart + "\n" }
        return Answer(
          text: text, json: answer.json,
          notice: notice(configuration.givenCatalogue, beside: catalogue, invocation.settings))
      }
    })

  /// That programs are refused by what this one was given beside the one of record.
  static func notice(
    _ given: Catalogue?, beside record: Catalogue, _ settings: Settings
  ) -> String? {
    guard let given, given.digest != record.digest else { return nil }
    let name = SharedSettings.plans.name
    let place = settings.values[name].map { " (\($0.origin.text))" } ?? ""
    return "\(name)\(place) names another one, \(given.version): commands and servers that start "
      + "with it are refused until it names this one or is taken out"
  }

  /// A ledger under what the servers derive by.
  private static func ledgerOfRecord(
    _ database: Database, _ configuration: DatabaseConfiguration
  ) throws -> Ledger {
    let rules = try database.read { reader in
      let own = LedgerRules(configuration)
      let inForce = try Ledger(stores: .known, rules: own, for: .command)
        .rulesInForce(reading: reader)
      // What people read of it is not among the rules.
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
