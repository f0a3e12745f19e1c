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
    answers: .list([
      "store": .text, "proof": .text, "configured": .bool, "first": .orNull(.time),
      "last": .orNull(.time),
    ]),
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
        let now = configuration.clock.now()
        var table = Table(
          ("STORE", .left), ("PROOF", .left), ("CONFIGURED", .left), ("FIRST", .left),
          ("LAST", .left))
        for use in uses {
          table.add(
            use.provider.rawValue, use.proof, use.isConfigured ? "yes" : "-",
            use.row.map { Terminal.time($0.first, now: now) } ?? "never",
            use.row.map { Terminal.time($0.last, now: now) } ?? "never")
        }
        return Answer(text: table.text, json: .array(uses.map(\.json)))
      }
    })

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

  var json: JSONValue {
    [
      "store": .string(provider.rawValue), "proof": .string(proof),
      "configured": .bool(isConfigured),
      "first": row.map { .string($0.first.description) } ?? .null,
      "last": row.map { .string($0.last.description) } ?? .null,
    ]
  }
}
