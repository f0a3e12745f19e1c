package import Subscriptions
internal import Tiers

extension ObjectKey.Provider {
  package static let btcpay = Self("btcpay")
}

extension ObjectKey.Kind {
  /// What an account has paid for, by the account's id: the server itself knows no subscription.
  package static let prepaid = Self("prepaid")
  /// Not Stripe's, which is another store's name for another thing.
  package static let prepaidInvoice = Self("prepaid_invoice")
  /// By the id of its invoice.
  package static let settlement = Self("settlement")
}

extension ObjectKey {
  /// There is no sandbox: a server of coins that are worth nothing is a server like any other.
  init(_ kind: Kind, _ id: String) {
    self.init(provider: .btcpay, environment: .live, kind: kind, id: id)
  }
}
