import Acts
import Base
import CommandLine
import Configuration
import Glibc
import JSON
import Jobs
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions

extension Command {
  private static let store = Parameter<ObjectKey.Provider?>.optional(
    "store", text: "stripe, apple, google or btcpay (default: all configured)", .provider)
  private static let whole = Parameter<Bool>.flag(
    "--whole",
    text:
      "compare all that the store has, and read unlisted subscriptions one by one"
  )
  private static let noWait = Parameter<Bool>.flag(
    "--no-wait", text: "do not wait; see coffer reconcile list")
  private static let limit = Parameter<Int>.limit(otherwise: 20)
  private static let of = Parameter<ObjectKey.Provider?>.optional(
    "--store", "store", text: "only this store", .provider)
  private static let repaired = Parameter<Bool>.flag(
    "--repaired", text: "list repairs instead of runs")
  private static let after = Parameter<String?>.optional(
    "--after", "row", text: "start after this row (see the previous page's last line)", .text)

  static let reconcile = Command(
    words: ["reconcile"],
    abstract: "Compare the ledger with the stores and repair lost data",
    discussion: """
      A running coffer-billing does it page by page, within the stores' rate limits. It also does so by \
      itself every COFFER_RECONCILE_HOURS. The results are recorded like deliveries and reads. An \
      interrupted run resumes; a run that did not finish does not count.

      Stripe lists its events of 30 days and every subscription, the App Store its notifications of half a \
      year, Google Play refunds of 30 days, a BTCPay server its invoices. Without --whole, stores are \
      asked for what happened since the last finished run.
      """,
    examples: [
      "coffer reconcile",
      "coffer reconcile stripe --whole",
    ],
    arguments: [store],
    options: [whole, noWait],
    answers: ["runs": .list(runs.item)],
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let providers = try asked(invocation[store], database)
        try database.write(for: nil) { transaction in
          for provider in providers {
            try Reconciliation.begin(
              of: provider, isWhole: invocation[whole], at: now, in: transaction)
            try Reconciliation.request(of: provider, at: now, in: transaction)
          }
        }
        if !invocation[noWait] { try wait(for: providers, database) }
        let latest = try database.read { reader in
          try providers.flatMap { provider in
            try Reconciliation.all(of: provider, after: nil, limit: 1, reading: reader)
          }
        }
        return Answer(text: runs.text(latest, at: now), json: .object([runs.member(latest)]))
      }
    })

  static let reconcileList = Command(
    words: ["reconcile", "list"],
    abstract: "List reconciliations with the stores, newest first",
    discussion: """
      EXAMINED counts what the store listed. AGREED was known, REPAIRED was lost or different, DISPUTED \
      contradicts itself or cannot be read, and UNREACHABLE got no answer. A hundred runs of each store \
      are kept.

      --repaired lists each repair: the run, the lost delivery or the purchase that was read, its account, \
      and what changed. The first \(RepairedDifference.countMax.grouped) repairs of a run are kept. For more, use \
      coffer event show or coffer entitlement explain.
      """,
    examples: ["coffer reconcile list --repaired --limit 20"],
    options: [limit, of, repaired, after],
    answers: .object([
      .init("runs", .list(runs.item), isOptional: true),
      .init("repairs", .list(ListedRepair.listing.item), isOptional: true),
      .init("next", .orNull(.text)),
    ]),
    run: { invocation in
      if invocation[repaired] { return try repairs(invocation) }
      return try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let last = try invocation[after].map { try listed($0, reader) }
        let page = try runs.page(invocation, by: { "\($0.provider.rawValue)/\($0.number)" }) {
          try Reconciliation.all(of: invocation[of], after: last, limit: $0, reading: reader)
        }
        let more = try page.notice {
          try Reconciliation.count(of: invocation[of], reading: reader)
        }
        return runs.answer(page, at: now, notice: more)
      }
    })

  private static func repairs(_ invocation: Invocation) throws -> Answer {
    try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
      database, configuration in
      let (ledger, now) = (Ledger(stores: .known, configuration), configuration.clock.now())
      return try database.read { reader in
        let last = try invocation[after].map { name in
          guard let last = try RepairedDifference.find(name, reading: reader) else {
            throw CommandFailure(
              .usage, "--after takes <store>/<run>/<subject>: see the previous page's last line")
          }
          return last
        }
        let page = try ListedRepair.listing.page(invocation, by: \.name) {
          try RepairedDifference.all(of: invocation[of], after: last, limit: $0, reading: reader)
        }
        return ListedRepair.listing.answer(
          try page.map { try ListedRepair($0, ledger, at: now, reader) }, at: now,
          notice: page.notice)
      }
    }
  }

  /// Stores that coffer-billing can ask have a job that continues their runs.
  private static func asked(
    _ provider: ObjectKey.Provider?, _ database: Database
  ) throws -> [ObjectKey.Provider] {
    let all = try database.read { reader in
      try StoreList.known.map { $0.provider }.filter { provider in
        try Jobs.find(Reconciliation.job, provider.rawValue, reading: reader) != nil
      }
    }
    guard let provider else {
      guard !all.isEmpty else {
        throw CommandFailure(
          .refused, "no store can be queried: coffer-billing never ran with a key of a store's API")
      }
      return all
    }
    guard all.contains(provider) else {
      throw CommandFailure(
        .refused,
        "\(provider.rawValue) cannot be queried: coffer-billing never ran with a key of its API")
    }
    return [provider]
  }

  /// The run that a page ended with: `store/number`.
  private static func listed(_ name: String, _ reader: Reader) throws -> Reconciliation {
    let parts = name.split(separator: "/").map(String.init)
    guard parts.count == 2, let provider = ObjectKey.Provider(rawValue: parts[0]),
      let number = Int64(parts[1]),
      let run = try Reconciliation.find(number, of: provider, reading: reader)
    else {
      throw CommandFailure(
        .usage, "--after takes <store>/<number>: see the previous page's last line")
    }
    return run
  }

  // MARK: waiting

  private static let pause: useconds_t = 300_000
  /// Usually longer than a store's failures hold up a page.
  private static let patience = Instant.Span.minutes(2)

  private static func wait(for providers: [ObjectKey.Provider], _ database: Database) throws {
    let progress = Progress("reconciling", .count(of: "examined"))
    var last: [Reconciliation] = []
    var end = MonotonicTime.now() + patience
    while true {
      let runs = try database.read { reader in
        try providers.compactMap { try Reconciliation.open(of: $0, reading: reader) }
      }
      if runs.isEmpty { return }
      if runs != last {
        (last, end) = (runs, .now() + patience)
        progress.place = runs.map { "\($0.provider.rawValue): \($0.step)" }.joined(separator: ", ")
        progress.done = runs.reduce(0) { $0 + $1.counts.examined }
      }
      guard MonotonicTime.now() < end else { throw try stuck(runs, database) }
      usleep(pause)
    }
  }

  private static func stuck(_ runs: [Reconciliation], _ database: Database) throws -> CommandFailure
  {
    let errors = try database.read { reader in
      try runs.compactMap { run in
        try Jobs.find(Reconciliation.job, run.provider.rawValue, reading: reader)?.lastError
      }
    }
    let why = errors.isEmpty ? "is coffer-billing running?" : errors.joined(separator: "; ")
    return CommandFailure(
      .unavailable, "no progress for two minutes; the run continues when it can: \(why)")
  }

  private static var runs: Listing<Reconciliation> {
    Listing(
      "runs",
      [
        Column(
          "store", .text, "STORE", json: { .string($0.provider.rawValue) },
          cell: { run, _ in run.provider.rawValue + (run.isWhole ? " (whole)" : "") }),
        .bool("whole") { $0.isWhole }, .time("began", "BEGAN") { $0.began },
        .optionalTime("since") { $0.since },
        Column(
          "step", .text, "STATE", json: { .string($0.step) },
          cell: { run, _ in
            run.ended.map { "ended after \(SpanText.text($0 - run.began))" }
              ?? "at \(run.step.isEmpty ? "its begin" : run.step)"
          }), .optionalTime("ended") { $0.ended },
        .integer("pages", "PAGES") { $0.pageCount },
        .integer("examined", "EXAMINED") { $0.counts.examined },
        .integer("agreed", "AGREED") { $0.counts.agreed },
        .integer("repaired", "REPAIRED") { $0.counts.repaired },
        .integer("disputed", "DISPUTED") { $0.counts.disputed },
        .integer("unreachable", "UNREACHABLE") { $0.counts.unreachable },
      ])
  }
}

extension Form where Value == ObjectKey.Provider {
  fileprivate static var provider: Form {
    let names = StoreList.known.map { $0.provider.rawValue }
    return Form(completion: .words(names)) { text in
      names.contains(text) ? ObjectKey.Provider(rawValue: text) : nil
    } refusal: {
      "\($1) is one of \(names.joined(separator: ", "))"
    }
  }
}
