package import JSON
package import Tiers

/// What an account asks to be done at Stripe. Equal intentions share one flow while it is open.
package struct Intention: Hashable, Sendable {
  package let kind: Kind
  package var plan: String?
  package var interval: Plan.Interval?
  /// A payment method that the client made with Stripe. A card's number is never stored here.
  package var paymentMethod: String?
  /// Where a page of Stripe's sends the browser back to.
  package var returnURL: String?
  /// The same for a customer who does not buy.
  package var cancelURL: String?

  package init(_ kind: Kind) { self.kind = kind }

  package enum Kind: String, Sendable, CaseIterable {
    /// Buys with a payment method.
    case subscribe
    /// Buys on a page of Stripe's.
    case checkout
    /// Changes the plan or interval: to a larger one at once, to a smaller one when the period ends.
    case change
    /// Ends the subscription when its period ends.
    case cancel
    /// Undoes a cancellation.
    case uncancel
    /// Resumes a paused subscription.
    case resume
    /// Sets another payment method, and pays what is open with it.
    case card
    /// Pays what is open with the existing payment method.
    case pay
    /// Opens Stripe's page on which customers manage their subscription.
    case portal
    /// Buys from the day on which another store's paid period ends.
    case migrate

    /// Whether it buys or changes something. An account does one of these at a time.
    package var isExclusive: Bool { self != .portal }

    /// Whether an account that is being deleted may ask for it, because it ends billing or shows it.
    var isForLeaving: Bool { self == .cancel || self == .portal }

    /// Whether it makes a subscription.
    package var isPurchase: Bool { self == .subscribe || self == .checkout || self == .migrate }
  }
}

extension Intention {
  /// The intention in canonical form: equal intentions have equal texts.
  package var json: JSONValue {
    let members: [(String, String?)] = [
      ("cancel_url", cancelURL), ("interval", interval?.rawValue), ("kind", kind.rawValue),
      ("payment_method", paymentMethod), ("plan", plan), ("return_url", returnURL),
    ]
    return .object(members.compactMap { name, value in value.map { .init(name, .string($0)) } })
  }

  var text: String { String(decoding: json.encoded(), as: UTF8.self) }

  /// Parses what `text` returned.
  init(text: String) throws(JSONError) {
    let json = try JSON.parse(Array(text.utf8))
    guard let kind = Kind(rawValue: try json["kind"].requireString()) else {
      throw JSONError(code: .wrongType, path: "$.kind", message: "must be a known kind")
    }
    self.kind = kind
    plan = json["plan"].string
    interval = json["interval"].string.flatMap { Plan.Interval(rawValue: $0) }
    paymentMethod = json["payment_method"].string
    returnURL = json["return_url"].string
    cancelURL = json["cancel_url"].string
  }
}
