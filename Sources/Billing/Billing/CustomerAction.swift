internal import Answers
internal import JSON
internal import Ledger
internal import Subscriptions

/// What a customer can do now, and where.
struct CustomerAction: Sendable {
  let name: Name
  let place: Place

  enum Name: String, CaseIterable {
    /// Its store's own page for it.
    case manageAtStore = "manage_at_store"
    case change, cancel, uncancel
    /// Ends a pause.
    case resume
    /// Another payment method; what is open is paid with it.
    case card
    /// With the payment method that is there.
    case pay
    /// A page for cards, invoices and cancelling.
    case portal
    /// What another store sold goes on here.
    case migrate
    /// Buys a plan: for the first time, or after all is over.
    case subscribe, resubscribe

    /// Whether an account that is being deleted is offered it: it ends what is billed, or shows it.
    var isForLeaving: Bool { self == .manageAtStore || self == .cancel || self == .portal }
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

extension SubscriptionOverview {
  /// What is no subscription's: buying, while none stands in the way.
  var actions: [CustomerAction] {
    guard let seller, !isLeaving, !subscriptions.contains(where: \.isCurrent) else { return [] }
    return [
      CustomerAction(
        name: subscriptions.isEmpty ? .subscribe : .resubscribe,
        place: .wish(path: "/v1/\(seller.rawValue)/checkout"))
    ]
  }

  func actions(of subscription: Subscription) -> [CustomerAction] {
    let all = subscription.actions + migrations(of: subscription)
    return isLeaving ? all.filter { $0.name.isForLeaving } : all
  }

  private func migrations(of subscription: Subscription) -> [CustomerAction] {
    guard let seller, subscription.mayMigrate, subscription.isCurrent,
      !subscriptions.contains(where: { $0.key.provider == seller && $0.isCurrent })
    else { return [] }
    return [CustomerAction(.migrate, at: seller)]
  }
}

extension CustomerAction {
  fileprivate init(_ name: Name, at provider: ObjectKey.Provider) {
    self.init(name: name, place: .wish(path: "/v1/\(provider.rawValue)/\(name.rawValue)"))
  }
}

extension SubscriptionOverview.Subscription {
  fileprivate var actions: [CustomerAction] {
    if let managePage {
      return [CustomerAction(name: .manageAtStore, place: .page(url: managePage))]
    }
    guard isManagedHere else { return [] }
    return wishes.map { CustomerAction($0, at: key.provider) }
  }

  /// What mends it comes first.
  private var wishes: [CustomerAction.Name] {
    let mending: [CustomerAction.Name] = failure == nil ? [] : [.card, .pay]
    switch label {
    case .trialing, .active, .grace, .renewalPending:
      let ending: CustomerAction.Name = willRenew ? .cancel : .uncancel
      return (failure == nil ? [.change, ending, .card] : mending + [ending]) + [.portal]
    case .onHold: return mending + [.cancel, .portal]
    case .paused: return (mending.isEmpty ? resuming : mending) + [.cancel, .portal]
    case .pending, .expired, .revoked, .superseded: return []
    }
  }

  /// A card that was missing ends the pause, too.
  private var resuming: [CustomerAction.Name] {
    switch pause?.reason {
    case .noPaymentMethod: [.card]
    case .requested: [.resume]
    case .paymentFailed, .collection, .unknown, nil: [.resume, .card]
    }
  }
}
