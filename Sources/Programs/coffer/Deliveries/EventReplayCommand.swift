internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import Compression
internal import Configuration
internal import Crypto
internal import JSON
internal import KnownStores
internal import Ledger
internal import Repair
internal import Storage
internal import Stores
internal import Subscriptions

extension Command {
  private static let event = Parameter<String?>.optional(
    "event", text: EventLookup.naming, .text)
  private static let store = Parameter<(any Store)?>.optional(
    "--store", "store", text: "store, if two stores have a delivery with this id", .store)
  private static let dryRun = Parameter<Bool>.flag(
    "--dry-run", text: "only show what would change")
  private static let moment = Parameter<StatedTime?>.optional(
    "--at", "time",
    text: "compare at this time: 2026-01-05T10:00:00Z, 2026-01-05, 2h or +30d",
    .time)
  private static let without = Parameter<String?>.optional(
    "--without", "event", text: "the delivery, as an option", .text)

  private static let undecodable = Parameter<Bool>.flag(
    "--undecodable", text: "all deliveries that could not be decoded when they arrived")
  private static let after = Parameter<Int64?>.optional(
    "--after", "number",
    text: "with --undecodable, continue after this number",
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
      ReplayText.shape.adding([.init("done", .bool)]), ReplayRound.shape,
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
          let replay = Replay(
            ledger: ledger, database: database, act: act, reason: reason, now: now)
          if let name = invocation[event] {
            let again = try redecoded(name, invocation, ledger, database)
            return ReplayText.answer(again, try replay.change(by: again), isDone: reason != nil)
          }
          let configuration = try DatabaseConfiguration(invocation.settings)
          var round = ReplayRound(replay) { try redecoded($0, configuration, ledger, database) }
          try round.takeAll(of: invocation[store], after: invocation[after] ?? 0)
          return round.answer
        }
        if invocation[dryRun] { return try answer(because: nil) }
        return try act.whenAgreed(
          shown: { try answer(because: nil) }, done: { try answer(because: reason) })
      }
    })

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
    answers: ReplayText.shape.adding([
      .init("at", .time), .init("unchanged", .orNull(SuppositionText.shape)),
      .init("then", .list(SuppositionText.thenShape)),
      .init("others", .integer), .init("cut_short", .bool), .init("unread", .integer),
    ]),
    run: { invocation in
      let names = [invocation[event], invocation[without]].compactMap { $0 }
      guard names.count == 1 else {
        throw CommandFailure(.usage, "whatif needs one <event>; see --help")
      }
      return try DatabaseSession.withLedger(invocation) { database, ledger, now in
        let delivery = try redecoded(names[0], invocation, ledger, database)
        let (others, areMore) = try database.read { reader in
          try ledger.deliveries(
            beside: delivery.delivery, countMax: otherCountMax, reading: reader)
        }
        let configuration = try DatabaseConfiguration(invocation.settings)
        var decoded: [RedecodedDelivery] = []
        var unread = 0
        for other in others {
          do {
            decoded.append(try redecoded(other, configuration, ledger, database))
          } catch is CommandFailure {
            unread += 1
          }
        }
        let all = decoded
        let asked = invocation[moment]?.moment(at: now)
        let supposition = try UndoneReplay.result(on: database) { transaction in
          try ledger.suppose(
            without: delivery, among: all, at: now, about: asked ?? now, in: transaction)
        }
        let text = SuppositionText(supposition, about: asked, at: now)
        var notices: [String] = []
        if areMore {
          notices.append(
            "more than \(otherCountMax) deliveries are about it: the oldest are left out")
        }
        if unread > 0 { notices.append("\(unread) deliveries could not be read and are left out") }
        return Answer(
          text: "without \(Printable.text(delivery.delivery.deliveryID))\n" + text.text,
          json: .object(
            ReplayText.members(delivery) + text.json + [
              .init("others", .integer(Int64(all.count))), .init("cut_short", .bool(areMore)),
              .init("unread", .integer(Int64(unread))),
            ]), notice: notices.isEmpty ? nil : notices.joined(separator: "; "))
      }
    })

  /// As many deliveries as one purchase gets in years.
  private static let otherCountMax = 500

  private static func redecoded(
    _ name: String, _ invocation: Invocation, _ ledger: Ledger, _ database: Database
  ) throws -> RedecodedDelivery {
    let configuration = try DatabaseConfiguration(invocation.settings)
    let found = try database.read { reader in
      try EventLookup.find(name, of: invocation[store], reading: reader)
    }
    guard found.count == 1, let delivery = found.first else {
      let numbers = found.map { "'#\($0.number)'" }.joined(separator: " or ")
      throw CommandFailure(
        .usage, "the store sent \(found.count) deliveries with it: name \(numbers)")
    }
    return try redecoded(delivery, configuration, ledger, database)
  }

  private static func redecoded(
    _ delivery: DeliverySummary, _ configuration: DatabaseConfiguration, _ ledger: Ledger,
    _ database: Database
  ) throws -> RedecodedDelivery {
    guard let sealing = configuration.sealingKeys else {
      throw CommandFailure(
        .usage, "stored deliveries are encrypted, and COFFER_SEALING_KEYS is not set")
    }
    let id = delivery.deliveryID
    do {
      return try database.read { reader in
        try RedecodedDelivery(
          delivery, of: .known, sealing: sealing, search: configuration.searchKey, reading: reader)
      }
    } catch let error as DatabaseError {
      throw error
    } catch let error as ErasedDelivery {
      throw CommandFailure(.refused, "\(id): \(error)")
    } catch let error as CryptoError {
      throw CommandFailure(.refused, "these keys do not open \(id): \(error)")
    } catch {
      throw CommandFailure(.refused, "\(id) cannot be read by today's decoder: \(error)")
    }
  }
}

/// What was decoded again, and its result.
private enum ReplayText {
  static func head(_ again: RedecodedDelivery) -> String {
    let (before, after) = (again.delivery.disposition, again.decoded.disposition)
    return EventText.fields([
      ("delivery", again.delivery.deliveryID), ("type", again.decoded.type),
      (
        "becomes",
        after == before
          ? "\(after.rawValue), as before" : "\(after.rawValue), was \(before.rawValue)"
      ),
      ("facts", "\(again.decoded.facts.count)"),
    ])
  }

  static func answer(
    _ again: RedecodedDelivery, _ change: DerivedChange, isDone: Bool
  ) -> Answer {
    let change = ChangeText(change)
    return Answer(
      text: head(again) + change.text + (isDone ? "\nreplayed\n" : ""),
      json: .object(members(again) + change.json + [.init("done", .bool(isDone))]))
  }

  static let shape: JSONShape = JSONShape.object([
    .init("delivery", .text), .init("number", .integer), .init("type", .text),
    .init("disposition_before", .text), .init("disposition", .text), .init("facts", .integer),
  ]).adding(ChangeText.members)

  static func members(_ again: RedecodedDelivery) -> [JSONValue.Member] {
    [
      .init("delivery", .string(again.delivery.deliveryID)),
      .init("number", .integer(again.delivery.number)),
      .init("type", .string(again.decoded.type)),
      .init("disposition_before", .string(again.delivery.disposition.rawValue)),
      .init("disposition", .string(again.decoded.disposition.rawValue)),
      .init("facts", .integer(Int64(again.decoded.facts.count))),
    ]
  }
}
