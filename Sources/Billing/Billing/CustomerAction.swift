internal import JSON
internal import Ledger
internal import Subscriptions

/// What a customer can do about a subscription now, and where.
struct CustomerAction: Sendable {
  let name: Name
  /// A page to open.
  let url: String

  enum Name: String, CaseIterable {
    /// Its store's own page for it.
    case manageAtStore = "manage_at_store"
  }

  var json: JSONValue { ["action": .string(name.rawValue), "url": .string(url)] }
}

extension SubscriptionOverview.Subscription {
  var actions: [CustomerAction] {
    guard let managePage else { return [] }
    return [CustomerAction(name: .manageAtStore, url: managePage)]
  }
}
