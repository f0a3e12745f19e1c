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
      COFFER_PLANS are refused from then on, so give them this one, or none; restart coffer-sync where the \
      free plan or the fee has changed, and after another fee call coffer usage recount --all. What it was \
      broken off in goes on when it is called again.
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
        let fee = before.rules.catalogue.metadataFeeByteCount
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
        if fee != catalogue.metadataFeeByteCount {
          text += "the fee has changed: restart coffer-sync, then coffer usage recount --all\n"
        }
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

/// What `plan diff` has to say.
private enum DifferenceAnswer {
  private static let changes: JSONShape = {
    let boundary: JSONShape = ["cap": .integer, "plan": .text, "reason": .text]
    return .list(["account": .text, "from": .time, "before": boundary, "after": boundary])
  }()

  static let shape: JSONShape = [
    "before": .text, "after": .text, "accounts": .integer, "lose": .integer, "gain": .integer,
    "renamed": .integer, "fee_before": .integer, "fee_after": .integer,
    "products": .list([
      "store": .text, "product": .text, "before": .orNull(.text), "after": .orNull(.text),
    ]), "losses": changes, "gains": changes,
  ]

  static func answer(
    _ difference: CatalogueDifference, from old: Catalogue, to new: Catalogue
  ) -> Answer {
    let ids = Set((old.paid + new.paid).map(\.id) + [old.free.id, new.free.id]).sorted()
    var plans = Table(("PLAN", .left), ("BEFORE", .right), ("AFTER", .right))
    for id in ids { plans.add(id, size(id, of: old), size(id, of: new)) }
    var text =
      plans.text + "\naccounts compared: \(difference.accountCount); \(difference.lossCount) lose, "
      + "\(difference.gainCount) gain, \(difference.renamedCount) keep their caps under another "
      + "plan or reason\n"
    if old.free.byteCount != new.free.byteCount {
      text += "whoever never had anything to do with billing has the plan \(new.free.id)\n"
    }
    let products = old.productChanges(to: new)
    if !products.isEmpty { text += "\nproducts:\n" + table(products).text + "\n" }
    let fees = (old.metadataFeeByteCount, new.metadataFeeByteCount)
    if fees.0 != fees.1 {
      text +=
        "each record costs \(fees.1) bytes instead of \(fees.0): once it is applied restart coffer-sync, "
        + "then coffer usage recount --all\n"
    }
    for (title, changes) in [("lose", difference.losses), ("gain", difference.gains)]
    where !changes.isEmpty {
      var table = Table(
        ("ACCOUNT", .left), ("FROM", .left), ("BEFORE", .left), ("AFTER", .left))
      for change in changes {
        table.add(
          change.account.description, change.at.description, shown(change.before),
          shown(change.after))
      }
      text += "\n\(title):\n" + table.text
    }
    return Answer(
      text: text,
      json: [
        "before": .string(old.digest), "after": .string(new.digest),
        "accounts": .integer(Int64(difference.accountCount)),
        "lose": .integer(Int64(difference.lossCount)),
        "gain": .integer(Int64(difference.gainCount)),
        "renamed": .integer(Int64(difference.renamedCount)),
        "fee_before": .integer(old.metadataFeeByteCount),
        "fee_after": .integer(new.metadataFeeByteCount),
        "products": .array(products.map(json)),
        "losses": .array(difference.losses.map(json)),
        "gains": .array(difference.gains.map(json)),
      ])
  }

  private static func table(_ products: [Catalogue.ProductChange]) -> Table {
    var table = Table(("STORE", .left), ("PRODUCT", .left), ("BEFORE", .left), ("AFTER", .left))
    for product in products {
      table.add(
        product.provider, product.id, product.before ?? "-",
        product.after ?? "- (who has it keeps \(product.before ?? "nothing"))")
    }
    return table
  }

  private static func json(_ product: Catalogue.ProductChange) -> JSONValue {
    [
      "store": .string(product.provider), "product": .string(product.id),
      "before": product.before.map { .string($0) } ?? .null,
      "after": product.after.map { .string($0) } ?? .null,
    ]
  }

  private static func size(_ id: String, of catalogue: Catalogue) -> String {
    catalogue.plan(id).map { ByteCount.text($0.byteCount) } ?? "-"
  }

  private static func shown(_ boundary: Schedule.Boundary) -> String {
    "\(ByteCount.text(boundary.capByteCount)) \(boundary.planID) \(boundary.reason.rawValue)"
  }

  private static func json(_ change: CatalogueDifference.Change) -> JSONValue {
    func value(_ boundary: Schedule.Boundary) -> JSONValue {
      [
        "cap": .integer(boundary.capByteCount), "plan": .string(boundary.planID),
        "reason": .string(boundary.reason.rawValue),
      ]
    }
    return [
      "account": .string(change.account.description), "from": .string(change.at.description),
      "before": value(change.before), "after": value(change.after),
    ]
  }
}
