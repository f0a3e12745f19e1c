package import Base
package import JSON

package typealias GoogleRecorder = StoryRecorder<FakePlayStore>

extension FakePlayStore: RecordedStore {
  package var sold: [String] { truths.map(\.token) }

  /// The reads of each purchase and of each of its orders.
  package var reads: [(name: String, file: String, answer: FakeAnswer)] {
    zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", sold).flatMap { letter, token in
      let purchase = (name: token, file: "purchase-\(letter)", answer: read(token, asOf: clock.now))
      return [purchase]
        + orders(of: token).enumerated().map { index, order in
          (name: order, file: "order-\(letter)\(index)", answer: readOrder(order, asOf: clock.now))
        }
    }
  }

  package func claim(of subscription: String) -> JSONValue {
    ["provider": "google", "token": .string(subscription)]
  }

  package func acknowledge(_ subscription: String, for account: Identifier) -> Bool {
    acknowledge(subscription, accountID: account)
  }

  package var serverSettings: [(key: String, value: String)] {
    [
      ("COFFER_GOOGLE_PACKAGE", settings.packageName),
      ("COFFER_GOOGLE_PUSH_AUDIENCE", settings.audience),
      ("COFFER_GOOGLE_PUSH_EMAIL", settings.pushEmail),
      ("COFFER_GOOGLE_SERVICE_ACCOUNT_FILE", "webhooks/google/keys/service-account.json"),
    ]
  }

  package var source: String {
    "Shape: Google's discovery document androidpublisher v3, revision 20261026, and its pages "
      + "on Pub/Sub push. Values: written by us."
  }
}
