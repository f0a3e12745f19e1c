import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Storage
import Stores
import Subscriptions

extension Command {
  static let webhookProofs = Command(
    words: ["webhook", "proofs"],
    abstract: "List the keys that proved deliveries and when each last did",
    discussion: """
      Use it to rotate a secret: put the new one first in the settings, have the store sign with it, and \
      remove the old one once LAST stops moving. A secret is shown as a digest that reveals nothing; \
      coffer event show has the same digest for each delivery. A row that is not CONFIGURED is the store's \
      own key or certificate, or a removed secret. LAST is exact to the hour.
      """,
    examples: ["coffer webhook proofs"],
    answers: .list(proofs.item),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let stores = try StoreList.configured(invocation.settings, clock: configuration.clock)
        let uses = try database.read { try ProofUse.all(of: stores, reading: $0) }
        return Answer(
          text: proofs.text(uses, at: configuration.clock.now()), json: proofs.array(uses))
      }
    })

  private static var proofs: Listing<ProofUse> {
    Listing(
      "proofs",
      [
        .text("store", "STORE") { $0.provider.rawValue }, .text("proof", "PROOF") { $0.proof },
        Column(
          "configured", .bool, "CONFIGURED", json: { .bool($0.isConfigured) },
          cell: { use, _ in use.isConfigured ? "yes" : "-" }),
        .optionalTime("first", "FIRST") { $0.row?.first },
        .optionalTime("last", "LAST") { $0.row?.last },
      ])
  }
}
