internal import JSON

/// What the account has after a step of a story.
package struct StoryExpectation: Sendable {
  let plan: String
  let reason: String
  /// Of the account's subscriptions at the store, in the order in which they were made; none while
  /// it has none.
  let labels: [String]
  /// Whether anything is said of labels at all.
  var tellsLabels = true
  /// How many add-ons come on top.
  var addOnCount: Int64 = 0

  /// By plan, as `webhooks/catalogue.json` has them.
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
  /// Nothing yet.
  package static let nobody = free("never_subscribed")
  /// No access; what the subscription is called is left open.
  package static let nothing = Self(
    plan: "free", reason: "never_subscribed", labels: [], tellsLabels: false)

  /// With an add-on of two gigabytes.
  package var extra: Self {
    var copy = self
    copy.addOnCount += 1
    return copy
  }

  private var cap: Int64 { Self.caps[plan]! + addOnCount * Self.caps["extra"]! }

  /// `letters`: how the story names the store's subscriptions, in the order they were made.
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
