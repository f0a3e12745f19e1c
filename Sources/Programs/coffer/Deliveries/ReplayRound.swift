internal import Acts
internal import Answers
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Repair
internal import Storage
internal import Stores
internal import Subscriptions

/// Makes the ledger join a stored delivery again, or returns what that would change.
struct Replay {
  let ledger: Ledger
  let database: Database
  let act: Act
  /// Why it is joined; nil: the change is undone.
  let reason: String?
  let now: Instant

  func change(by again: RedecodedDelivery) throws -> DerivedChange {
    let (ledger, act, now) = (ledger, act, now)
    guard let reason else {
      return try UndoneReplay.result(on: database) { try ledger.replay(again, at: now, in: $0) }
    }
    return try database.write(for: nil) { transaction in
      let change = try ledger.replay(again, at: now, in: transaction)
      let text = ChangeText(change)
      try act.note(
        Act.Effect(
          subject: "\(again.delivery.provider.rawValue) \(again.delivery.deliveryID)",
          before: text.states(\.before), after: text.states(\.after)),
        because: reason, at: now, in: transaction)
      return change
    }
  }
}

/// A transaction that is undone, run only for its result.
struct UndoneReplay<Result: Sendable>: Error {
  private let result: Result

  /// The result of `body` in a transaction that is undone.
  static func result(
    on database: Database, _ body: @escaping @Sendable (Transaction) throws -> Result
  ) throws -> Result {
    do {
      return try database.write(for: nil) { transaction in
        throw UndoneReplay(result: try body(transaction))
      }
    } catch let replay as UndoneReplay {
      return replay.result
    }
  }
}

/// All deliveries that could not be read when they came, one by one. Each that can be read now gets
/// a transaction and an entry in the audit log.
struct ReplayRound {
  private let replay: Replay
  /// Throws a `CommandFailure` if the delivery still cannot be read.
  private let decode: (DeliverySummary) throws -> RedecodedDelivery
  private var count = 0
  private var readCount = 0
  private var accounts: Set<Identifier> = []
  private var listed: [(delivery: DeliverySummary, type: String, becomes: String)] = []

  private static let listedCountMax = 1000

  init(_ replay: Replay, decode: @escaping (DeliverySummary) throws -> RedecodedDelivery) {
    self.replay = replay
    self.decode = decode
  }

  /// Takes them in the order of their numbers, after `number`.
  mutating func takeAll(of store: (any Store)?, after number: Int64) throws {
    let numbers = try replay.database.read { reader in
      try DeliverySummary.undecodable(of: store?.provider, after: number, reading: reader)
    }
    let progress = Progress("reading", .count(of: "deliveries"), of: Int64(numbers.count))
    for number in numbers {
      progress.place = "\(number)"
      let found = try replay.database.read { reader in
        try DeliverySummary.find(number: number, reading: reader)
      }
      if let found { try take(found) }
      progress.done += 1
    }
  }

  private mutating func take(_ delivery: DeliverySummary) throws {
    count += 1
    let again: RedecodedDelivery
    do {
      again = try decode(delivery)
    } catch is CommandFailure {
      return note(delivery, delivery.type, "undecodable")
    }
    guard again.decoded.disposition != .undecodable else {
      return note(delivery, delivery.type, "undecodable")
    }
    let change = try replay.change(by: again)
    readCount += 1
    accounts.formUnion(change.accounts)
    note(delivery, again.decoded.type, again.decoded.disposition.rawValue)
  }

  private mutating func note(_ delivery: DeliverySummary, _ type: String, _ becomes: String) {
    if listed.count < Self.listedCountMax { listed.append((delivery, type, becomes)) }
  }

  static let shape: JSONShape = [
    "undecodable": .integer, "read": .integer, "accounts": .integer, "done": .bool,
    "listed": .list([
      "number": .integer, "store": .text, "delivery": .text, "type": .text, "disposition": .text,
    ]),
  ]

  var answer: Answer {
    let isDone = replay.reason != nil
    var table = Table(
      ("NUMBER", .right), ("STORE", .left), ("DELIVERY", .left), ("TYPE", .left),
      (isDone ? "BECAME" : "BECOMES", .left))
    for (delivery, type, becomes) in listed {
      table.add(
        String(delivery.number), delivery.provider.rawValue, delivery.deliveryID, type, becomes)
    }
    let deliveries = count == 1 ? "1 delivery" : "\(Int64(count).grouped) deliveries"
    return Answer(
      text: (listed.isEmpty ? "" : table.text + "\n")
        + "\(Int64(readCount).grouped) of \(deliveries) "
        + (isDone ? "were read and joined; " : "can be read today; ")
        + "\(counted(accounts.count, "account")) \(isDone ? "got" : "would get") another schedule\n",
      json: [
        "undecodable": .integer(Int64(count)), "read": .integer(Int64(readCount)),
        "accounts": .integer(Int64(accounts.count)), "done": .bool(isDone),
        "listed": .array(
          listed.map { delivery, type, becomes in
            [
              "number": .integer(delivery.number), "store": .string(delivery.provider.rawValue),
              "delivery": .string(delivery.deliveryID), "type": .string(type),
              "disposition": .string(becomes),
            ]
          }),
      ])
  }
}
