/// One of the three executables, as settings and help texts name it.
package enum Program: String, Sendable, CaseIterable {
  case sync = "coffer-sync"
  case billing = "coffer-billing"
  case command = "coffer"

  package var abstract: String {
    switch self {
    case .sync: "Serves accounts and encrypted documents, and holds every write to its tier."
    case .billing: "Receives the payment providers' webhooks and derives who may store what."
    case .command: "Looks after a Coffer installation: accounts, entitlements, webhooks."
    }
  }
}
