internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Repair
internal import Subscriptions
internal import Tiers

/// The differences between what is derived before and after something.
struct ChangeText: Sendable {
  private let change: DerivedChange

  init(_ change: DerivedChange) { self.change = change }

  var text: String {
    var text = ""
    for key in change.subscriptions {
      let (before, after) = (
        change.before.subscriptions[key] ?? nil, change.after.subscriptions[key] ?? nil
      )
      var table = Table(("", .left), ("BEFORE", .left), ("AFTER", .left))
      table.add("owner", owner(before), owner(after))
      table.add("state", state(before), state(after))
      let owed = (intervals(before), intervals(after))
      for index in 0..<max(owed.0.count, owed.1.count, 1) {
        table.add(
          index == 0 ? "owed" : "", index < owed.0.count ? owed.0[index] : "-",
          index < owed.1.count ? owed.1[index] : "-")
      }
      text += "\n\(Printable.text(key.description))\n" + EventText.indented(table)
    }
    for account in change.accounts {
      let (before, after) = (
        change.before.schedules[account] ?? [], change.after.schedules[account] ?? []
      )
      var table = Table(("FROM", .left), ("BEFORE", .left), ("AFTER", .left))
      for moment in Set((before + after).map(\.from)).sorted() {
        table.add(moment.description, cap(before, moment), cap(after, moment))
      }
      text += "\naccount \(account)\n" + EventText.indented(table)
    }
    return text.isEmpty ? "\nno entitlement would change\n" : text
  }

  /// The shape of `json`, in addition to what else is reported.
  static let members: [JSONShape.Member] = [
    .init(
      "subscriptions",
      .list(["subscription": .text, "before": .orNull(state), "after": .orNull(state)])),
    .init(
      "accounts", .list(["account": .text, "before": .list(boundary), "after": .list(boundary)])),
  ]

  private static let state: JSONShape = [
    "owner": .orNull(.text), "state": .text, "will_renew": .bool,
    "owed": .list(["plan": .text, "from": .orNull(.time), "to": .orNull(.time), "why": .text]),
  ]

  private static let boundary: JSONShape = [
    "from": .orNull(.time), "cap": .integer, "plan": .text, "reason": .text,
  ]

  var json: [JSONValue.Member] {
    [
      .init(
        "subscriptions",
        .array(
          change.subscriptions.map { key in
            [
              "subscription": .string(key.description),
              "before": value(change.before.subscriptions[key] ?? nil),
              "after": value(change.after.subscriptions[key] ?? nil),
            ]
          })),
      .init(
        "accounts",
        .array(
          change.accounts.map { account in
            [
              "account": .string(account.description),
              "before": .array((change.before.schedules[account] ?? []).map(value)),
              "after": .array((change.after.schedules[account] ?? []).map(value)),
            ]
          })),
    ]
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

  private func cap(_ boundaries: [Schedule.Boundary], _ moment: Instant) -> String {
    guard let boundary = boundaries.last(where: { $0.from <= moment }) else { return "-" }
    return "\(ByteCount.text(boundary.capByteCount)), \(boundary.planID), "
      + boundary.reason.rawValue
  }

  private func value(_ derived: DerivedState.Subscription?) -> JSONValue {
    guard let derived else { return .null }
    return [
      "owner": derived.owner.map { .string($0.description) } ?? .null,
      "state": .string(derived.label.rawValue), "will_renew": .bool(derived.willRenew),
      "owed": .array(
        derived.intervals.map { interval in
          [
            "plan": .string(interval.planID), "from": .moment(interval.from),
            "to": .moment(interval.to), "why": .string(interval.why.rawValue),
          ]
        }),
    ]
  }

  private func value(_ boundary: Schedule.Boundary) -> JSONValue {
    [
      "from": .moment(boundary.from), "cap": .integer(boundary.capByteCount),
      "plan": .string(boundary.planID), "reason": .string(boundary.reason.rawValue),
    ]
  }
}
