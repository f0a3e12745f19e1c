internal import Apple
internal import Google
internal import JSON
internal import Stripe
internal import Subscriptions

extension ProviderObject: Mirrored {
  package var rank: Int {
    switch self {
    case .stripe(let object): object.rank
    case .apple(let object): object.rank
    case .google: 0
    }
  }

  /// The content as a mirror's row holds it: equal contents give equal texts.
  var stored: String {
    let json: JSONValue =
      switch self {
      case .stripe(let object): object.stored()
      case .apple(let object): object.stored()
      case .google(let object): object.stored()
      }
    return String(decoding: json.encoded(), as: UTF8.self)
  }

  /// Reads what `stored` wrote.
  init(stored text: String, of key: ObjectKey) throws {
    let json = try JSON.parse(Array(text.utf8))
    switch key.provider {
    case .stripe: self = .stripe(try StripeObject(stored: json, kind: key.kind))
    case .apple: self = .apple(try AppleObject(stored: json, kind: key.kind))
    case .google: self = .google(try GoogleObject(stored: json, kind: key.kind))
    }
  }
}
