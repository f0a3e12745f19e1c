import Base
import CommandLine
import JSON
import Ledger
import Repair
import Subscriptions
import Tiers

/// The differences between what is derived before and after something.
struct ChangeText: Sendable {
  let change: DerivedChange

  var text: String {
    var text = ""
    for (key, before, after) in Self.subscriptions(change) {
      var table = Table(("", .left), ("BEFORE", .left), ("AFTER", .left))
      table.add("owner", owner(before), owner(after))
      table.add("state", state(before), state(after))
      let owed = (intervals(before), intervals(after))
      for index in 0..<max(owed.0.count, owed.1.count, 1) {
        table.add(
          index == 0 ? "owed" : "", index < owed.0.count ? owed.0[index] : "-",
          index < owed.1.count ? owed.1[index] : "-")
      }
      text += "\n\(Printable.text(key.description))\n" + table.indented()
    }
    for (account, before, after) in Self.accounts(change) {
      func cap(_ boundaries: [Schedule.Boundary], _ moment: Instant) -> String {
        boundaries.last { $0.from <= moment }?.text ?? "-"
      }
      var table = Table(("FROM", .left), ("BEFORE", .left), ("AFTER", .left))
      for moment in Set((before + after).map(\.from)).sorted() {
        table.add(moment.description, cap(before, moment), cap(after, moment))
      }
      text += "\naccount \(account)\n" + table.indented()
    }
    return text.isEmpty ? "\nno entitlement would change\n" : text
  }

  /// The changes for the audit log, in one line for each subscription.
  func states(_ side: KeyPath<DerivedChange, DerivedState>) -> JSONValue {
    .object(
      change.subscriptions.map { key in
        let derived = change[keyPath: side].subscriptions[key] ?? nil
        return .init(
          key.description,
          .string(
            "\(state(derived)), owner \(owner(derived)): "
              + intervals(derived).joined(separator: "; ")))
      })
  }

  private func owner(_ derived: DerivedState.Subscription?) -> String {
    derived.map { $0.owner?.description ?? "nobody" } ?? "-"
  }

  private func state(_ derived: DerivedState.Subscription?) -> String {
    derived.map { $0.label.rawValue + ($0.willRenew ? ", renews" : "") } ?? "unknown"
  }

  private func intervals(_ derived: DerivedState.Subscription?) -> [String] {
    (derived?.intervals ?? []).map {
      "\($0.planID) from \($0.from) to \($0.to), \($0.why.rawValue)"
    }
  }

  // MARK: for programs

  private typealias Changed<Key, State> = (key: Key, before: State, after: State)

  private static func subscriptions(
    _ change: DerivedChange
  ) -> [Changed<ObjectKey, DerivedState.Subscription?>] {
    change.subscriptions.map {
      ($0, change.before.subscriptions[$0] ?? nil, change.after.subscriptions[$0] ?? nil)
    }
  }

  private static func accounts(
    _ change: DerivedChange
  ) -> [Changed<Identifier, [Schedule.Boundary]>] {
    change.accounts.map {
      ($0, change.before.schedules[$0] ?? [], change.after.schedules[$0] ?? [])
    }
  }

  static var listing: Listing<DerivedChange> {
    let subscription = Listing<Changed<ObjectKey, DerivedState.Subscription?>>([
      .text("subscription") { $0.key.description }, .optionalObject("before", state) { $0.before },
      .optionalObject("after", state) { $0.after },
    ])
    let account = Listing<Changed<Identifier, [Schedule.Boundary]>>([
      .text("account") { $0.key.description }, .list("before", boundaries) { $0.before },
      .list("after", boundaries) { $0.after },
    ])
    return Listing([
      .list("subscriptions", subscription, subscriptions), .list("accounts", account, accounts),
    ])
  }

  private static var state: Listing<DerivedState.Subscription> {
    Listing([
      .optionalText("owner") { $0.owner?.description }, .text("state") { $0.label.rawValue },
      .bool("will_renew") { $0.willRenew },
      .list("owed", spans) { $0.intervals.map(OwedChange.Span.init) },
    ])
  }

  static var spans: Listing<OwedChange.Span> {
    Listing([
      .text("plan") { $0.planID }, .bound("from") { $0.from }, .bound("to") { $0.to },
      .text("why") { $0.why.rawValue },
    ])
  }

  static var caps: Listing<Schedule.Boundary> {
    Listing([
      .integer("cap") { $0.capByteCount }, .text("plan") { $0.planID },
      .text("reason") { $0.reason.rawValue },
    ])
  }

  private static var boundaries: Listing<Schedule.Boundary> {
    Listing([.bound("from") { $0.from }] + caps.columns(of: { $0 }))
  }
}

extension Schedule.Boundary {
  var text: String { "\(ByteCount.text(capByteCount)), \(planID), \(reason.rawValue)" }
}
