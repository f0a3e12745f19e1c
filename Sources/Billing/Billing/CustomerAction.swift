import Answers
import JSON
import Subscriptions

/// An action that a customer can take now, and its place.
struct CustomerAction: Sendable {
  let name: Name
  let place: Place

  enum Name: String, CaseIterable {
    /// Opens the store's own page for the subscription.
    case manageAtStore = "manage_at_store"
    case change, cancel, uncancel
    /// Ends a pause.
    case resume
    /// Sets another payment method; what is open is paid with it.
    case card
    /// Pays with the existing payment method.
    case pay
    /// Opens a page for cards, invoices and cancelling.
    case portal
    /// Continues here what another store sold.
    case migrate
    /// Buys a plan: for the first time, or after everything has ended.
    case subscribe, resubscribe

    /// Whether it is offered to an account that is being deleted, because it ends billing or shows it.
    var isForLeaving: Bool { self == .manageAtStore || self == .cancel || self == .portal }
  }

  enum Place {
    /// A page to open.
    case page(url: String)
    /// A request to this server: `POST` to the path.
    case request(path: String)
  }

  var json: JSONValue {
    switch place {
    case .page(let url): ["action": .string(name.rawValue), "url": .string(url)]
    case .request(let path): ["action": .string(name.rawValue), "path": .string(path)]
    }
  }
}

extension SubscriptionOverview {
  /// The actions of no particular subscription: buying, while nothing prevents it.
  var actions: [CustomerAction] {
    guard let seller, !isLeaving, !subscriptions.contains(where: \.preventsPurchase)
    else { return [] }
    return [
      CustomerAction(
        name: subscriptions.isEmpty ? .subscribe : .resubscribe,
        place: .request(path: "/v1/\(seller.rawValue)/checkout"))
    ]
  }

  func actions(of subscription: Subscription) -> [CustomerAction] {
    var all = subscription.actions + migrations(of: subscription)
    if subscription.sharesCustomer { all.removeAll { $0.name == .portal } }
    if !subscription.preventsPurchase {
      // Only a plan is changed to another one.
      all.removeAll { $0.name == .change }
      // Requests name no subscription: these would be about the plan beside an addition.
      let provider = subscription.key.provider
      if subscriptions.contains(where: { $0.key.provider == provider && $0.preventsPurchase }) {
        all.removeAll { [.cancel, .uncancel, .resume, .card].contains($0.name) }
      }
    }
    return isLeaving ? all.filter { $0.name.isForLeaving } : all
  }

  private func migrations(of subscription: Subscription) -> [CustomerAction] {
    guard let seller, subscription.mayMigrate, subscription.preventsPurchase,
      !subscriptions.contains(where: { $0.key.provider == seller && $0.preventsPurchase })
    else { return [] }
    return [CustomerAction(.migrate, at: seller)]
  }
}

extension CustomerAction {
  fileprivate init(_ name: Name, at provider: ObjectKey.Provider) {
    self.init(name: name, place: .request(path: "/v1/\(provider.rawValue)/\(name.rawValue)"))
  }
}

extension SubscriptionOverview.Subscription {
  fileprivate var actions: [CustomerAction] {
    if let managePage {
      return [CustomerAction(name: .manageAtStore, place: .page(url: managePage))]
    }
    guard isManagedHere else { return [] }
    return offered.map { CustomerAction($0, at: key.provider) }
  }

  /// The actions in order; those that fix a failed payment come first.
  private var offered: [CustomerAction.Name] {
    var remedies: [CustomerAction.Name] = failure == nil ? [] : [.card]
    if failure?.invoice != nil { remedies.append(.pay) }
    switch label {
    case .trialing, .active, .grace, .renewalPending:
      let ending: CustomerAction.Name = willRenew ? .cancel : .uncancel
      return (failure == nil ? [.change, ending, .card] : remedies + [ending]) + [.portal]
    case .onHold: return remedies + [.cancel, .portal]
    case .paused: return (remedies.isEmpty ? resuming : remedies) + [.cancel, .portal]
    case .pending, .expired, .revoked, .superseded: return []
    }
  }

  /// Setting a card that was missing also ends the pause.
  private var resuming: [CustomerAction.Name] {
    switch pause?.reason {
    case .noPaymentMethod: [.card]
    case .requested: [.resume]
    case .paymentFailed, .collection, .unknown, nil: [.resume, .card]
    }
  }
}
