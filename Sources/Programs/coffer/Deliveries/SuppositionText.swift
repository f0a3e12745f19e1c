import Base
import CommandLine
import JSON
import Repair
import Subscriptions
import Tiers

/// What would apply without a delivery, or why nothing would be different.
struct SuppositionText: Sendable {
  let supposition: Supposition
  /// The time in question; nil: all time.
  let asked: Instant?
  let now: Instant

  private var change: DerivedChange { supposition.change }
  private var moment: Instant { asked ?? now }

  // MARK: text

  var text: String {
    guard asked != nil else {
      let none = supposition.unchanged.map { "because \(Self.sentence($0))\n" } ?? ""
      return ChangeText(change: change).text + none + sameCaps
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
    return "\n" + table.indented() + (none.map { "\n\($0)" } ?? "")
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

  private func cap(_ schedule: [Schedule.Boundary]?) -> String { boundary(schedule)?.text ?? "-" }

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

  // MARK: for programs

  static var shapes: [JSONShape.Member] { ChangeText.listing.shapes + listing.shapes }

  var json: [JSONValue.Member] {
    ChangeText.listing.members(change) + Self.listing.members(self)
  }

  private static var listing: Listing<SuppositionText> {
    let unchanged = Listing<Supposition.Unchanged>([
      .text("reason") { $0.told.word }, .texts("deliveries") { $0.told.ids },
      .text("text") { sentence($0) },
    ])
    let then = Listing<
      (account: Identifier, before: Schedule.Boundary?, after: Schedule.Boundary?)
    >([
      .text("account") { $0.account.description },
      .optionalObject("before", ChangeText.caps) { $0.before },
      .optionalObject("after", ChangeText.caps) { $0.after },
    ])
    return Listing([
      .time("at") { $0.moment },
      .optionalObject("unchanged", unchanged) { $0.supposition.unchanged },
      .list("then", then) { text in
        let (before, after) = (text.change.before.schedules, text.change.after.schedules)
        return after.keys.sorted().map {
          ($0, text.boundary(before[$0]), text.boundary(after[$0]))
        }
      }, .integer("others") { Int64($0.supposition.otherCount) },
      .bool("cut_short") { $0.supposition.isCutShort },
      .integer("unread") { Int64($0.supposition.unreadCount) },
    ])
  }
}

extension Supposition.Unchanged {
  fileprivate var told: (word: String, ids: [String]) {
    switch self {
    case .saysNothing: ("says_nothing", [])
    case .outdated(let ids): ("outdated", ids)
    case .saidAgain(let ids): ("said_again", ids)
    case .sandbox: ("sandbox", [])
    case .owesTheSame: ("owes_the_same", [])
    }
  }
}
