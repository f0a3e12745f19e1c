/// One of the three executables, as settings and help texts name it.
package enum Program: String, Sendable, CaseIterable {
  case sync = "coffer-sync"
  case billing = "coffer-billing"
  case command = "coffer"

  package var abstract: String {
    switch self {
    case .sync: "Serves accounts and encrypted documents, and enforces quotas."
    case .billing: "Receives the stores' webhooks and derives each account's quota."
    case .command: "Administer a Coffer installation."
    }
  }
}
