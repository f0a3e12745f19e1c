package import Base
package import JSON

package typealias AppleRecorder = StoryRecorder<FakeAppStore>

extension FakeAppStore: RecordedStore {
  package var sold: [String] { act { $0.ids } }

  /// A seat belongs to its holder, whoever pays for it.
  package func sold(to account: Identifier) -> [String] {
    truths.filter { $0.account == account }.map(\.originalTransactionID)
  }

  package func claim(of subscription: String) -> JSONValue {
    ["provider": "apple", "transaction": .string(signedTransaction(for: subscription))]
  }

  /// A production server accepts the sandbox's notifications and ignores them.
  package var answer: String? { settings.environment == .sandbox ? "other_mode" : nil }

  package var serverSettings: [(key: String, value: String)] {
    [
      ("COFFER_APPLE_BUNDLE_ID", settings.bundleID),
      ("COFFER_APPLE_APP_ID", String(settings.appAppleID)),
      ("COFFER_APPLE_ROOT_FILE", "webhooks/apple/keys/root.der"),
    ]
  }

  package var source: String {
    "Shape: Apple's documents on App Store Server Notifications V2 and its own library "
      + "app-store-server-library-python 3.1.1. Values: written by us."
  }
}
