package import Crypto
package import JSON

/// What the client must do for a flow to continue, or can do with its result.
package enum ClientAction: Sendable, Equatable {
  /// Confirm with Stripe's library that the payment method may be used later (3-D Secure).
  case confirmSetup(clientSecret: String)
  /// Confirm a payment the same way.
  case confirmPayment(clientSecret: String)
  /// Open a page of Stripe's in a browser.
  case visit(url: String)
  /// End the renewal at the store that bills until then, because only its customer can.
  case endRenewal(store: String)

  package var json: JSONValue {
    switch self {
    case .confirmSetup(let secret): ["type": "confirm_setup", "client_secret": .string(secret)]
    case .confirmPayment(let secret): ["type": "confirm_payment", "client_secret": .string(secret)]
    case .visit(let url): ["type": "visit", "url": .string(url)]
    case .endRenewal(let store): ["type": "end_renewal", "store": .string(store)]
    }
  }

  init?(_ json: JSON) {
    let value = json["client_secret"].string ?? json["url"].string ?? json["store"].string
    switch (json["type"].string, value) {
    case ("confirm_setup", let secret?): self = .confirmSetup(clientSecret: secret)
    case ("confirm_payment", let secret?): self = .confirmPayment(clientSecret: secret)
    case ("visit", let url?): self = .visit(url: url)
    case ("end_renewal", let store?): self = .endRenewal(store: store)
    default: return nil
    }
  }
}

extension Flow {
  private var context: [UInt8] { Array("flow|\(id)".utf8) }

  func sealed(_ action: ClientAction, _ sealing: SealingKeys) -> [UInt8] {
    sealing.seal(action.json.encoded(), context: context)
  }

  /// Unseals the action. Nil if there is none, or if its sealing key is gone. An action is valid
  /// for a day at most, and the next look at Stripe makes a new one.
  package func action(_ sealing: SealingKeys) -> ClientAction? {
    guard let sealedAction, let plain = try? sealing.open(sealedAction, context: context),
      let json = try? JSON.parse(plain)
    else { return nil }
    return ClientAction(json)
  }
}
