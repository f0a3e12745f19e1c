internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Repair
internal import Subscriptions
internal import Tiers

/// What would apply without a delivery, or why nothing would be different.
struct SuppositionText: Sendable {
  private let supposition: Supposition
  /// The time in question; nil: all time.
  private let asked: Instant?
  private let now: Instant

  init(_ supposition: Supposition, about asked: Instant?, at now: Instant) {
    (self.supposition, self.asked, self.now) = (supposition, asked, now)
  }

  private var change: DerivedChange { supposition.change }
  private var moment: Instant { asked ?? now }

  // MARK: text

  var text: String {
    guard asked != nil else {
      let none = supposition.unchanged.map { "because \(Self.sentence($0))\n" } ?? ""
      return ChangeText(change).text + none + sameCaps
    }
    return "at \(moment), by what is known now\n" + then + sameCaps
  }

  private var then: String {
    var table = Table(("", .folded), ("BEFORE", .left), ("AFTER", .left))
    for key in change.after.subscriptions.keys.sorted() {
      table.add(
        key.description, state(change.before.subscriptions[key] ?? nil),
        state(change.after.subscriptions[key] ?? nil))
    }
    for account in change.after.schedules.keys.sorted() {
      table.add(
        "account \(account)", cap(change.before.schedules[account]),
        cap(change.after.schedules[account]))
    }
    let none = supposition.unchanged.map {
      "nothing would change, because \(Self.sentence($0))\n"
    }
    return "\n" + EventText.indented(table) + (none.map { "\n\($0)" } ?? "")
  }

  private func state(_ derived: DerivedState.Subscription?) -> String {
    guard let derived else { return "unknown" }
    let owed = derived.intervals.last { $0.from <= moment && moment < $0.to }
    return derived.label.rawValue
      + (owed.map { ": \($0.planID) until \($0.to), \($0.why.rawValue)" } ?? ": nothing owed")
  }

  private func boundary(_ schedule: [Schedule.Boundary]?) -> Schedule.Boundary? {
    schedule?.last { $0.from <= moment }
  }

  private func cap(_ schedule: [Schedule.Boundary]?) -> String {
    boundary(schedule).map {
      "\(ByteCount.text($0.capByteCount)), \($0.planID), \($0.reason.rawValue)"
    } ?? "-"
  }

  /// The caps, if subscriptions would be different but what accounts may store would not.
  private var sameCaps: String {
    guard !change.subscriptions.isEmpty, change.accounts.isEmpty else { return "" }
    guard !change.after.schedules.isEmpty else {
      return "\nno account's quota changes, because no account owns it\n"
    }
    return change.after.schedules.keys.sorted().map { account in
      "\naccount \(account) keeps its quota, because of its other purchases and grants: "
        + "\(cap(change.after.schedules[account]))\n"
    }.joined()
  }

  private static func sentence(_ reason: Supposition.Unchanged) -> String {
    func list(_ ids: [String]) -> String { Printable.text(ids.joined(separator: ", ")) }
    switch reason {
    case .saysNothing(let disposition):
      return "it is about no object: \(EventText.sentence(disposition))"
    case .outdated(let ids):
      return ids.isEmpty
        ? "none of its content is kept" : "later deliveries replaced it: \(list(ids))"
    case .saidAgain(let ids): return "other deliveries say the same: \(list(ids))"
    case .sandbox: return "it is from the sandbox, which grants nothing here"
    case .owesTheSame: return "its own content does not affect the entitlement"
    }
  }

  // MARK: JSON

  static let shape: JSONShape = ["reason": .text, "deliveries": .list(.text), "text": .text]
  static let thenShape: JSONShape = [
    "account": .text, "before": .orNull(boundaryShape), "after": .orNull(boundaryShape),
  ]
  private static let boundaryShape: JSONShape = ["cap": .integer, "plan": .text, "reason": .text]

  var json: [JSONValue.Member] {
    ChangeText(change).json + [
      .init("at", .string(moment.description)),
      .init("unchanged", supposition.unchanged.map(Self.json) ?? .null),
      .init(
        "then",
        .array(
          change.after.schedules.keys.sorted().map { account in
            [
              "account": .string(account.description),
              "before": boundary(change.before.schedules[account]).map(Self.json) ?? .null,
              "after": boundary(change.after.schedules[account]).map(Self.json) ?? .null,
            ]
          })),
    ]
  }

  private static func json(_ boundary: Schedule.Boundary) -> JSONValue {
    [
      "cap": .integer(boundary.capByteCount), "plan": .string(boundary.planID),
      "reason": .string(boundary.reason.rawValue),
    ]
  }

  private static func json(_ reason: Supposition.Unchanged) -> JSONValue {
    let (name, ids): (String, [String]) =
      switch reason {
      case .saysNothing: ("says_nothing", [])
      case .outdated(let ids): ("outdated", ids)
      case .saidAgain(let ids): ("said_again", ids)
      case .sandbox: ("sandbox", [])
      case .owesTheSame: ("owes_the_same", [])
      }
    return [
      "reason": .string(name), "deliveries": .array(ids.map { .string($0) }),
      "text": .string(sentence(reason)),
    ]
  }
}
