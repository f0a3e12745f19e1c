import JSON

/// The account's expected state after a step of a story.
package struct StoryExpectation: Sendable {
  let plan: String
  let reason: String
  /// The labels of the account's subscriptions at the store, in the order of their creation; empty if there
  /// are none.
  let labels: [String]
  /// Whether labels are checked at all.
  var tellsLabels = true
  /// The number of add-ons on top of the plan.
  var addOnCount: Int64 = 0

  /// By plan, as in `webhooks/catalogue.json`.
  package static let caps: [String: Int64] = [
    "free": 1_000_000, "premium": 30_000_000_000, "plus": 200_000_000_000,
    "extra": 2_000_000_000,
  ]

  package static func premium(_ reason: String = "subscribed", _ labels: String...) -> Self {
    Self(plan: "premium", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
  }
  package static func plus(_ reason: String = "subscribed", _ labels: String...) -> Self {
    Self(plan: "plus", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
  }
  package static func free(_ reason: String, _ labels: String...) -> Self {
    Self(plan: "free", reason: reason, labels: labels)
  }
  /// Nothing bought yet.
  package static let nobody = free("never_subscribed")
  /// No access; the subscription's label is left open.
  package static let nothing = Self(
    plan: "free", reason: "never_subscribed", labels: [], tellsLabels: false)

  /// With an add-on of two gigabytes.
  package var extra: Self {
    var copy = self
    copy.addOnCount += 1
    return copy
  }

  private var cap: Int64 { Self.caps[plan]! + addOnCount * Self.caps["extra"]! }

  /// `letters`: the story's names of the store's subscriptions, in the order of their creation.
  func json(_ letters: [String]) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("cap", .integer(cap)), .init("plan", .string(plan)),
      .init("reason", .string(reason)),
    ]
    if tellsLabels {
      precondition(labels.count <= letters.count, "there are no \(labels.count) subscriptions")
      let named = zip(letters, labels).map { JSONValue.Member($0, .string($1)) }
      members.append(.init("labels", .object(named)))
    }
    return .object(members)
  }
}
