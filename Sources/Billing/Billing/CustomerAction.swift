internal import JSON
internal import Ledger
internal import Subscriptions

/// What a customer can do about a subscription now, and where.
struct CustomerAction: Sendable {
  let name: Name
  let place: Place

  enum Name: String, CaseIterable {
    /// Its store's own page for it.
    case manageAtStore = "manage_at_store"
    case change, cancel, uncancel
    /// Another payment method; what is open is paid with it.
    case card
    /// With the payment method that is there.
    case pay
  }

  enum Place {
    /// A page to open.
    case page(url: String)
    /// A wish to this server: `POST` to the path.
    case wish(path: String)
  }

  var json: JSONValue {
    switch place {
    case .page(let url): ["action": .string(name.rawValue), "url": .string(url)]
    case .wish(let path): ["action": .string(name.rawValue), "path": .string(path)]
    }
  }
}

extension SubscriptionOverview.Subscription {
  var actions: [CustomerAction] {
    if let managePage {
      return [CustomerAction(name: .manageAtStore, place: .page(url: managePage))]
    }
    guard isManagedHere else { return [] }
    return wishes.map { name in
      CustomerAction(
        name: name, place: .wish(path: "/v1/\(key.provider.rawValue)/\(name.rawValue)"))
    }
  }

  /// What mends it comes first.
  private var wishes: [CustomerAction.Name] {
    let mending: [CustomerAction.Name] = failure == nil ? [] : [.card, .pay]
    switch label {
    case .trialing, .active, .grace, .renewalPending:
      let ending: CustomerAction.Name = willRenew ? .cancel : .uncancel
      return failure == nil ? [.change, ending, .card] : mending + [ending]
    case .onHold, .paused: return mending + [.cancel]
    case .pending, .expired, .revoked, .superseded: return []
    }
  }
}
