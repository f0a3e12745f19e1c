internal import Base
package import Crypto
package import JSON

/// What the client must do for a flow to go on, or may do with what came of it.
package enum ClientAction: Sendable, Equatable {
  /// Confirm with Stripe's library that the payment method may be used later (3-D Secure).
  case confirmSetup(clientSecret: String)
  /// Confirm a payment the same way.
  case confirmPayment(clientSecret: String)
  /// Open a page of Stripe's in a browser.
  case visit(url: String)
  /// End the renewal in the store that bills until then, where only its customer can.
  case endRenewal(store: String)

  package var json: JSONValue {
    switch self {
    case .confirmSetup(let secret):
      ["type": "confirm_setup", "client_secret": .string(secret)]
    case .confirmPayment(let secret):
      ["type": "confirm_payment", "client_secret": .string(secret)]
    case .visit(let url): ["type": "visit", "url": .string(url)]
    case .endRenewal(let store): ["type": "end_renewal", "store": .string(store)]
    }
  }

  init?(_ json: JSON) {
    switch json["type"].string {
    case "confirm_setup":
      guard let secret = json["client_secret"].string else { return nil }
      self = .confirmSetup(clientSecret: secret)
    case "confirm_payment":
      guard let secret = json["client_secret"].string else { return nil }
      self = .confirmPayment(clientSecret: secret)
    case "visit":
      guard let url = json["url"].string else { return nil }
      self = .visit(url: url)
    case "end_renewal":
      guard let store = json["store"].string else { return nil }
      self = .endRenewal(store: store)
    default: return nil
    }
  }
}

extension Flow {
  private func context() -> [UInt8] { Array("flow|\(id)".utf8) }

  func sealed(_ action: ClientAction, _ sealing: SealingKeys) -> [UInt8] {
    sealing.seal(action.json.encoded(), context: context())
  }

  /// Nil where there is nothing to do, or it was sealed with a key that is gone: it lives for a day at
  /// most, and the next look at Stripe makes it anew.
  package func action(_ sealing: SealingKeys) -> ClientAction? {
    guard let sealedAction, let plain = try? sealing.open(sealedAction, context: context()),
      let json = try? JSON.parse(plain)
    else { return nil }
    return ClientAction(json)
  }
}
