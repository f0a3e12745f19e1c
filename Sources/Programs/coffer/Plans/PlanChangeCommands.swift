import Acts
import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Repair
import Storage
import Tiers

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
    answers: DifferenceAnswer.listing.item,
    run: { invocation in
      let catalogue = try catalogue(at: invocation[file], invocation)
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let change = try CatalogueChange(to: catalogue, of: database, configuration)
        let progress = Progress(
          "comparing", .count(of: "accounts"),
          of: try database.read { try CatalogueDifference.accountCount(reading: $0) })
        let difference = try CatalogueDifference(
          from: change.before, to: catalogue, of: database, at: now, listed: invocation[limit]
        ) { progress.done = Int64($0) }
        var answer = DifferenceAnswer.answer(
          difference, from: change.before.rules.catalogue, to: catalogue)
        answer.notice = try database.read { try change.sharedVersion(reading: $0) }
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
        let change = try CatalogueChange(to: catalogue, of: database, configuration)
        let left = try database.read { try change.left(reading: $0) }
        var answer = Answer(
          text: "\(catalogue.version) is the catalogue of record already\n",
          json: ["digest": .string(catalogue.digest), "done": false])
        if let left {
          answer = try Act(invocation, on: database).whenConfirmed { transaction, now in
            try change.effect(left, at: now, in: transaction)
          }
          guard answer.code == .ok else { return answer }
          answer = try derive(change, database, configuration.clock, answer)
        }
        if let restart = change.before.rules.catalogue.restart(for: catalogue) {
          answer = answer.adding([], text: restart + "\n")
        }
        answer.notice = notice(configuration.givenCatalogue, beside: catalogue, invocation.settings)
        return answer
      }
    })

  /// Another `plan apply` may replace the catalogue meanwhile. It derives everything that this one has not.
  private static func derive(
    _ change: CatalogueChange, _ database: Database, _ clock: Clock, _ answer: Answer
  ) throws -> Answer {
    func replacement() throws -> CatalogueOfRecord? {
      let record = try database.read { try CatalogueOfRecord.find(reading: $0) }
      return record?.digest == change.catalogue.digest ? nil : record
    }
    func replaced(by other: CatalogueOfRecord) -> Answer {
      answer.adding(
        [.init("replaced_by", .string(other.digest))],
        text:
          "replaced since by \(other.version), catalogue \(other.number), which applies instead\n")
    }
    let progress = Progress(
      "deriving", .count(of: "subscriptions"),
      of: try database.read { try change.ledger.outdatedCount(reading: $0) })
    do {
      let count = try change.ledger.deriveAnew(on: database, clock: clock) { count, _ in
        progress.done = Int64(count)
      }
      if let other = try replacement() { return replaced(by: other) }
      return answer.adding(
        [.init("derived", .integer(Int64(count)))],
        text: "derived  \(counted(count, "subscription"))\n")
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

  private static func catalogue(at path: String, _ invocation: Invocation) throws -> Catalogue {
    let bytes = try InputFile.bytes(at: path)
    let catalogue: Catalogue
    do throws(CatalogueFile.Failure) {
      catalogue = try CatalogueFile.catalogue(of: bytes)
    } catch {
      throw CommandFailure(.refused, "\(path) \(error.text)")
    }
    try SettingsReader.read(invocation.settings) { $0.checkProducts(of: catalogue) }
    return catalogue
  }
}
