import Base
package import JSON

package typealias BTCPayRecorder = StoryRecorder<FakeBTCPay>

extension FakeBTCPay: RecordedStore {
  /// The accounts, each with its prepaid subscription.
  package var sold: [String] { accounts.map(\.description) }

  /// Each account's invoices.
  package var reads: [(name: String, file: String, answer: FakeAnswer)] {
    zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", accounts).map { letter, account in
      (name: account.description, file: "invoices-\(letter)", answer: list(of: account))
    }
  }

  /// There are no claims: an invoice names its account.
  package func claim(of subscription: String) -> JSONValue {
    preconditionFailure("nothing of a BTCPay server is claimed")
  }

  package var serverSettings: [(key: String, value: String)] {
    func text(_ secret: Secret) -> String { String(decoding: secret.exposed, as: UTF8.self) }
    return [
      ("COFFER_BTCPAY_URL", "https://pay.coffer.example"),
      ("COFFER_BTCPAY_STORE_ID", settings.storeID),
      ("COFFER_BTCPAY_API_KEY", text(settings.apiKey)),
      ("COFFER_BTCPAY_WEBHOOK_SECRETS", text(settings.secret)),
    ]
  }

  package var source: String {
    "Shape: btcpayserver 2.4.1, its source and its Greenfield API. Values: written by us."
  }
}
