import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Repair
import Storage
import Stores
import Subscriptions

extension Command {
  private static let event = Parameter<String?>.optional("event", text: EventLookup.naming, .text)
  private static let store = Parameter<(any Store)?>.optional(
    "--store", "store", text: "store, if two stores have a delivery with this id", .store)
  private static let dryRun = Parameter<Bool>.flag("--dry-run", text: "only show what would change")
  private static let moment = Parameter<StatedTime?>.optional(
    "--at", "time", text: "compare at this time: 2026-01-05T10:00:00Z, 2026-01-05, 2h or +30d",
    .time)
  private static let without = Parameter<String?>.optional(
    "--without", "event", text: "the delivery, as an option", .text)

  private static let undecodable = Parameter<Bool>.flag(
    "--undecodable", text: "all deliveries that could not be decoded when they arrived")
  private static let after = Parameter<Int64?>.optional(
    "--after", "number", text: "with --undecodable, continue after this number",
    .number(in: 1...Int64.max))

  static let eventReplay = Command(
    words: ["event", "replay"],
    abstract: "Decode stored deliveries again with the current decoder",
    discussion: """
      Use it for deliveries that an earlier version could not read or read wrongly. The new content \
      replaces the old, and the entitlements are derived again. History of what was granted stays. \
      Personal data becomes searchable where COFFER_SEARCH_KEY is set. Needs COFFER_SEALING_KEYS.

      Reads that the content asks for are not made: use coffer subscription read. Without --dry-run the \
      command needs --reason and --yes, and each replay is recorded in the audit log. Progress is on \
      stderr and ends with the current number, for --after.
      """,
    examples: [
      "coffer event replay evt_1Qx8y --dry-run",
      "coffer event replay --undecodable --reason \"upgrade to 1.2\" --yes",
    ],
    arguments: [event],
    options: [undecodable, after, store, dryRun, Act.remark, Act.yes],
    answers: .oneOf([
      ReplayText.shape.adding([.init("done", .bool)]), RoundText.listing(isDone: true).item,
    ]),
    run: { invocation in
      let reason = invocation[Act.remark]
      if reason == nil, !invocation[dryRun] {
        throw CommandFailure(.usage, "give --reason, or only look with --dry-run")
      }
      guard (invocation[event] == nil) == invocation[undecodable] else {
        throw CommandFailure(.usage, "give one of <event> and --undecodable")
      }
      guard invocation[undecodable] || invocation[after] == nil else {
        throw CommandFailure(.usage, "--after is for --undecodable")
      }
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        let act = try Act(invocation, on: database)
        func answer(because reason: String?) throws -> Answer {
          let noting = reason.map { entry(because: $0, act, at: now) }
          if let name = invocation[event] {
            let (again, redecoder) = try redecoded(name, invocation, ledger, database)
            let change = try redecoder.replay(again, at: now, noting: noting)
            return ReplayText.answer(again, change, isDone: reason != nil)
          }
          let redecoder = try redecoder(invocation, ledger, database)
          var round = ReplayRound(redecoder, at: now, noting: noting)
          let numbers = try database.read { reader in
            try DeliverySummary.undecodable(
              of: invocation[store]?.provider, after: invocation[after] ?? 0, reading: reader)
          }
          let progress = Progress("reading", .count(of: "deliveries"), of: Int64(numbers.count))
          for number in numbers {
            progress.place = "\(number)"
            let found = try database.read { try DeliverySummary.find(number: number, reading: $0) }
            if let found { try round.take(found) }
            progress.done += 1
          }
          return RoundText.answer(round, isDone: reason != nil)
        }
        if invocation[dryRun] { return try answer(because: nil) }
        return try act.whenAgreed(
          shown: { try answer(because: nil) }, done: { try answer(because: reason) })
      }
    })

  /// Adds the entry of a replay to the audit log.
  private static func entry(
    because reason: String, _ act: Act, at now: Instant
  ) -> Redecoder.Noting {
    { again, change, transaction in
      let text = ChangeText(change: change)
      try act.note(
        Act.Effect(
          subject: "\(again.delivery.provider.rawValue) \(again.delivery.deliveryID)",
          before: text.states(\.before), after: text.states(\.after)),
        because: reason, at: now, in: transaction)
    }
  }

  static let whatif = Command(
    words: ["whatif"],
    abstract: "Show what would change if a delivery had never arrived",
    discussion: """
      Compares owners, entitlements and quotas with and without the delivery. Operators' decisions stay. \
      Other deliveries about the same objects are decoded again, the newest 500 of them. If nothing would \
      change, the command says why. --at compares at one time, based on what is known now. Needs \
      COFFER_SEALING_KEYS. Nothing is changed.
      """,
    examples: [
      "coffer whatif evt_1Qx8y",
      "coffer whatif evt_1Qx8y --at 2026-01-05",
    ],
    arguments: [event],
    options: [without, store, moment],
    answers: ReplayText.listing.item.adding(SuppositionText.shapes),
    run: { invocation in
      let names = [invocation[event], invocation[without]].compactMap { $0 }
      guard names.count == 1 else {
        throw CommandFailure(.usage, "whatif needs one <event>; see --help")
      }
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        let (delivery, redecoder) = try redecoded(names[0], invocation, ledger, database)
        let asked = invocation[moment]?.moment(at: now)
        let supposition = try redecoder.suppose(without: delivery, at: now, about: asked ?? now)
        let text = SuppositionText(supposition: supposition, asked: asked, now: now)
        let notices = [
          supposition.isCutShort
            ? "more than \(Supposition.otherCountMax) deliveries are about it: the oldest are left out"
            : nil,
          supposition.unreadCount > 0
            ? "\(supposition.unreadCount) deliveries could not be read and are left out" : nil,
        ].compactMap { $0 }
        return Answer(
          text: "without \(Printable.text(delivery.delivery.deliveryID))\n" + text.text,
          json: .object(ReplayText.listing.members(delivery) + text.json),
          notice: notices.isEmpty ? nil : notices.joined(separator: "; "))
      }
    })

  private static func redecoded(
    _ name: String, _ invocation: Invocation, _ ledger: Ledger, _ database: Database
  ) throws -> (RedecodedDelivery, Redecoder) {
    let found = try database.read { reader in
      try EventLookup.find(name, of: invocation[store], reading: reader)
    }
    guard found.count == 1, let delivery = found.first else {
      let numbers = found.map { "'#\($0.number)'" }.joined(separator: " or ")
      throw CommandFailure(
        .usage, "the store sent \(found.count) deliveries with it: name \(numbers)")
    }
    let redecoder = try redecoder(invocation, ledger, database)
    do { return (try redecoder.decoded(delivery), redecoder) } catch let error as UnreadableDelivery
    {
      throw CommandFailure(.refused, error.description)
    }
  }

  private static func redecoder(
    _ invocation: Invocation, _ ledger: Ledger, _ database: Database
  ) throws -> Redecoder {
    let configuration = try DatabaseConfiguration(invocation.settings)
    return Redecoder(
      ledger, database, sealing: try configuration.neededSealingKeys(),
      search: configuration.searchKey)
  }
}

/// What was decoded again, and its result.
private enum ReplayText {
  static func answer(_ again: RedecodedDelivery, _ change: DerivedChange, isDone: Bool) -> Answer {
    let (before, after) = (again.delivery.disposition, again.decoded.disposition)
    let head = Prose.fields(
      [
        ("delivery", again.delivery.deliveryID), ("type", again.decoded.type),
        (
          "becomes",
          after == before
            ? "\(after.rawValue), as before" : "\(after.rawValue), was \(before.rawValue)"
        ), ("facts", "\(again.decoded.facts.count)"),
      ], width: 11)
    return Answer(
      text: head + ChangeText(change: change).text + (isDone ? "\nreplayed\n" : ""),
      json: .object(
        listing.members(again) + ChangeText.listing.members(change)
          + [.init("done", .bool(isDone))]))
  }

  static var shape: JSONShape { listing.item.adding(ChangeText.listing.shapes) }

  static var listing: Listing<RedecodedDelivery> {
    Listing([
      .text("delivery") { $0.delivery.deliveryID }, .integer("number") { $0.delivery.number },
      .text("type") { $0.decoded.type },
      .text("disposition_before") { $0.delivery.disposition.rawValue },
      .text("disposition") { $0.decoded.disposition.rawValue },
      .integer("facts") { Int64($0.decoded.facts.count) },
    ])
  }
}

/// What became of all deliveries that could not be decoded.
private enum RoundText {
  static func answer(_ round: ReplayRound, isDone: Bool) -> Answer {
    let table = listed(isDone).text(round.listed, at: .distantPast)
    let deliveries = round.count == 1 ? "1 delivery" : "\(Int64(round.count).grouped) deliveries"
    return Answer(
      text: (round.listed.isEmpty ? "" : table + "\n")
        + "\(Int64(round.readCount).grouped) of \(deliveries) "
        + (isDone ? "were read and joined; " : "can be read today; ")
        + "\(counted(round.accounts.count, "account")) \(isDone ? "got" : "would get") another "
        + "schedule\n", json: listing(isDone: isDone).json(round))
  }

  static func listing(isDone: Bool) -> Listing<ReplayRound> {
    Listing([
      .integer("undecodable") { Int64($0.count) }, .integer("read") { Int64($0.readCount) },
      .integer("accounts") { Int64($0.accounts.count) }, .bool("done") { _ in isDone },
      .list("listed", listed(isDone)) { $0.listed },
    ])
  }

  private static func listed(_ isDone: Bool) -> Listing<ReplayRound.Listed> {
    Listing([
      .integer("number", "NUMBER") { $0.delivery.number },
      .text("store", "STORE") { $0.delivery.provider.rawValue },
      .text("delivery", "DELIVERY") { $0.delivery.deliveryID }, .text("type", "TYPE") { $0.type },
      .text("disposition", isDone ? "BECAME" : "BECOMES") { $0.disposition.rawValue },
    ])
  }
}
