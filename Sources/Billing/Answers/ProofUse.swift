package import Ledger
package import Storage
package import Stores
package import Subscriptions

/// A proof of deliveries, and the times of its use.
package struct ProofUse: Sendable {
  package let provider: ObjectKey.Provider
  package let proof: String
  package let isConfigured: Bool
  /// Nil if it was never used.
  package let row: ProofRow?

  /// A store's own keys change some dozen times a year.
  private static let countMax = 100

  /// The proofs of each store: configured ones in their order, then others that were used, the latest first.
  package static func all(of stores: StoreList, reading reader: Reader) throws -> [ProofUse] {
    try stores.flatMap { store in
      let used = try ProofRow.all(of: store.provider, countMax: countMax, reading: reader)
      let configured = store.webhook?.proofs ?? []
      func use(_ proof: String, _ row: ProofRow?) -> ProofUse {
        ProofUse(
          provider: store.provider, proof: proof, isConfigured: configured.contains(proof), row: row
        )
      }
      return configured.map { proof in use(proof, used.first { $0.proof == proof }) }
        + used.filter { !configured.contains($0.proof) }.map { use($0.proof, $0) }
    }
  }
}
