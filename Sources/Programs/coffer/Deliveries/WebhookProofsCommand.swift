internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import KnownStores
internal import Ledger
internal import ProviderAPI
internal import Storage
internal import Stores
internal import Subscriptions

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
        let used = try database.read { reader in
          try stores.flatMap {
            try ProofRow.all(of: $0.provider, countMax: countMax, reading: reader)
          }
        }
        let uses = Use.all(used, of: stores)
        return Answer(
          text: proofs.text(uses, at: configuration.clock.now()),
          json: .array(uses.map(proofs.json)))
      }
    })

  private static var proofs: Listing<Use> {
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

  /// A store's own keys change some dozen times a year.
  private static let countMax = 100
}

/// A proof of deliveries, and the times of its use.
private struct Use {
  let provider: ObjectKey.Provider
  let proof: String
  let isConfigured: Bool
  /// Nil if it was never used.
  let row: ProofRow?

  /// The proofs of each store: configured ones in their order, then others that were used, the latest first.
  static func all(_ used: [ProofRow], of stores: StoreList) -> [Use] {
    stores.flatMap { store in
      let own = used.filter { $0.provider == store.provider }
      let configured = store.webhook?.proofs ?? []
      return configured.map { proof in
        Use(
          provider: store.provider, proof: proof, isConfigured: true,
          row: own.first { $0.proof == proof })
      }
        + own.filter { !configured.contains($0.proof) }.map {
          Use(provider: store.provider, proof: $0.proof, isConfigured: false, row: $0)
        }
    }
  }
}
