package import Base
package import Storage
package import Subscriptions

/// What proved deliveries of a store, and when it did.
package struct ProofRow: Sendable {
  package let provider: ObjectKey.Provider
  /// In a few words that give nothing away, as deliveries keep it.
  package let proof: String
  package let first: Instant
  /// To the hour: it is written once in an hour at most.
  package let last: Instant

  /// Those of a store, the one that was used last first.
  package static func all(
    of provider: ObjectKey.Provider, countMax: Int, reading database: some Queryable
  ) throws -> [ProofRow] {
    try database.rows(
      """
      SELECT proof, first_ms, last_ms FROM billing.proofs WHERE provider = $1
      ORDER BY last_ms DESC, proof LIMIT $2
      """, .text(provider.rawValue), .integer(countMax)
    ) { row in
      ProofRow(
        provider: provider, proof: try row.text(0), first: try row.instant(1),
        last: try row.instant(2))
    }
  }

  package func write(in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.proofs (provider, proof, first_ms, last_ms) VALUES ($1, $2, $3, $4)
      ON CONFLICT (provider, proof) DO UPDATE SET last_ms = excluded.last_ms
      WHERE proofs.last_ms < excluded.last_ms
      """, .text(provider.rawValue), .text(proof), .instant(first), .instant(last))
  }
}

/// When this process last noted what proved deliveries, so that it does so but once in an hour.
final class NotedProofs: Sendable {
  private let times = Locked(Epochs<String, Instant>(countMax: 256))

  private static let interval = Instant.Span.hours(1)

  /// The row to write for a proof that was used at `time`; nil where that was done within the hour.
  func due(_ provider: ObjectKey.Provider, _ proof: String, at time: Instant) -> ProofRow? {
    let noted = times.withLock { $0.value(Self.name(provider, proof)) }
    if let noted, time < noted + Self.interval { return nil }
    return ProofRow(provider: provider, proof: proof, first: time, last: time)
  }

  /// To be called once the row is durable.
  func insert(_ row: ProofRow) {
    times.withLock { $0.set(Self.name(row.provider, row.proof), row.last) }
  }

  private static func name(_ provider: ObjectKey.Provider, _ proof: String) -> String {
    "\(provider.rawValue) \(proof)"
  }
}
