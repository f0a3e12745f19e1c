package import Subscriptions
import Tiers

extension ObjectKey.Provider {
  package static let btcpay = Self("btcpay")
}

extension ObjectKey.Kind {
  /// What an account has paid for, by the account's id. The server itself has no subscriptions.
  package static let prepaid = Self("prepaid")
  /// Not named as Stripe's invoices, because it is a different thing at a different store.
  package static let prepaidInvoice = Self("prepaid_invoice")
  /// Identified by the id of its invoice.
  package static let settlement = Self("settlement")
}

extension ObjectKey {
  /// There is no sandbox: a server with worthless coins is treated like any other.
  init(_ kind: Kind, _ id: String) {
    self.init(provider: .btcpay, environment: .live, kind: kind, id: id)
  }
}
