import Answers
import Base
import CommandLine
import JSON
import Ledger
import Storage
import Subscriptions

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

  static var listing: Listing<ListedRepair> {
    Listing(
      "repairs",
      [
        .text("store", "STORE") { $0.repair.provider.rawValue },
        .integer("run", "RUN") { $0.repair.run },
        .time("repaired", "REPAIRED") { $0.repair.found }, .time("since") { $0.repair.since },
        .shown("FOUND") { row, _ in row.found }, .shown("PURCHASE") { row, _ in row.purchases },
        .shown("ACCOUNT") { row, _ in row.accounts }, .shown("CHANGED") { row, _ in row.changes },
        Column(
          "delivery", .orNull(["number": .integer, "id": .orNull(.text), "type": .orNull(.text)]),
          json: \.deliveryJSON), .optionalText("object") { $0.object?.description },
        Column(
          "subscriptions", .list(.text),
          json: { .array($0.keys.map { .string($0.description) }) }),
        Column(
          "accounts", .list(.text),
          json: { .array(($0.effect?.accounts ?? []).map { .string($0.description) }) }),
      ]
        + ShownEvent.effectShape.enumerated().map { index, member in
          Column(member.name, member.shape, json: { ShownEvent.members($0.effect)[index].value })
        })
  }

  private var found: String {
    switch repair.subject {
    case .delivery(let number): "lost delivery #\(number)" + (delivery.map { " \($0.type)" } ?? "")
    case .object: "read"
    }
  }

  private var purchases: String {
    Self.joined((keys.isEmpty ? [object].compactMap { $0 } : keys).map(\.description))
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

  private var object: ObjectKey? {
    if case .object(let key) = repair.subject { key } else { nil }
  }

  private var keys: [ObjectKey] { effect?.subscriptions.map(\.key) ?? [] }

  private var deliveryJSON: JSONValue {
    guard case .delivery(let number) = repair.subject else { return .null }
    return [
      "number": .integer(number), "id": delivery.map { .string($0.deliveryID) } ?? .null,
      "type": delivery.map { .string($0.type) } ?? .null,
    ]
  }
}
