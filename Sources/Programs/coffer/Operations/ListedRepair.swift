internal import Answers
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Storage
internal import Subscriptions

/// A row of `reconcile list --repaired`.
struct ListedRepair: Sendable {
  private let repair: RepairedDifference
  /// The lost delivery, if it is still stored.
  private let delivery: DeliverySummary?
  private let effect: DeliveryEffect?

  init(_ repair: RepairedDifference, _ ledger: Ledger, at now: Instant, _ reader: Reader) throws {
    self.repair = repair
    delivery =
      if case .delivery(let number) = repair.subject {
        try DeliverySummary.find(number: number, reading: reader)
      } else { nil }
    effect = try repair.effect(at: now, ledger: ledger, reading: reader)
  }

  // MARK: for people

  static func table(_ rows: [ListedRepair], now: Instant) -> String {
    var table = Table(
      ("STORE", .left), ("RUN", .right), ("REPAIRED", .left), ("FOUND", .left),
      ("PURCHASE", .left), ("ACCOUNT", .left), ("CHANGED", .left))
    for row in rows {
      table.add(
        row.repair.provider.rawValue, String(row.repair.run),
        Terminal.time(row.repair.found, now: now), row.found, row.purchases, row.accounts,
        row.changes)
    }
    return table.text
  }

  private var found: String {
    switch repair.subject {
    case .delivery(let number): "lost delivery #\(number)" + (delivery.map { " \($0.type)" } ?? "")
    case .object: "read"
    }
  }

  private var purchases: String {
    let keys = effect?.subscriptions.map(\.key.description) ?? []
    if case .object(let key) = repair.subject, keys.isEmpty { return key.description }
    return Self.joined(keys)
  }

  private var accounts: String { Self.joined(effect?.accounts.map(\.description) ?? []) }

  /// Changes of states and owners. A renewal changes neither; for it, the end of what is owed.
  private var changes: String {
    guard let effect else { return "-" }
    var changes = effect.changes.map { "\($0.transition.before) -> \($0.transition.after)" }
    if changes.isEmpty { changes = effect.owed.map { Self.text($0.change) } }
    return Self.joined(changes)
  }

  private static func text(_ change: OwedChange) -> String {
    func side(_ spans: [OwedChange.Span]) -> String {
      spans.last.map { "\($0.planID) until \($0.to)" } ?? "nothing"
    }
    return "\(side(change.before)) -> \(side(change.after))"
  }

  private static func joined(_ texts: [String]) -> String {
    texts.isEmpty ? "-" : texts.joined(separator: ", ")
  }

  // MARK: for programs

  static let shape: JSONShape = .object(
    [
      .init("store", .text), .init("run", .integer), .init("since", .time),
      .init("repaired", .time),
      .init(
        "delivery", .orNull(["number": .integer, "id": .orNull(.text), "type": .orNull(.text)])),
      .init("object", .orNull(.text)), .init("subscriptions", .list(.text)),
      .init("accounts", .list(.text)),
    ] + ShownEvent.effectShape)

  var json: JSONValue {
    let (number, object): (Int64?, ObjectKey?) =
      switch repair.subject {
      case .delivery(let number): (number, nil)
      case .object(let key): (nil, key)
      }
    func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    return .object(
      [
        .init("store", .string(repair.provider.rawValue)), .init("run", .integer(repair.run)),
        .init("since", .string(repair.since.description)),
        .init("repaired", .string(repair.found.description)),
        .init(
          "delivery",
          number.map {
            [
              "number": .integer($0), "id": text(delivery?.deliveryID),
              "type": text(delivery?.type),
            ]
          } ?? .null),
        .init("object", text(object?.description)),
        .init(
          "subscriptions",
          .array((effect?.subscriptions ?? []).map { .string($0.key.description) })),
        .init("accounts", .array((effect?.accounts ?? []).map { .string($0.description) })),
      ] + ShownEvent.members(effect))
  }
}
