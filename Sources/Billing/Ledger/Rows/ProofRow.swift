package import Base
package import Storage
package import Subscriptions

/// A proof of a store's deliveries, and when it was used.
package struct ProofRow: Sendable {
  package let provider: ObjectKey.Provider
  /// A few words that reveal nothing, as deliveries store them.
  package let proof: String
  package let first: Instant
  /// Exact to the hour: it is written at most once an hour.
  package let last: Instant

  /// The proofs of a store, last used first.
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

/// When this process last recorded each proof, so that it does so at most once an hour.
final class NotedProofs: Sendable {
  private let times = Locked(Epochs<String, Instant>(countMax: 256))

  private static let interval = Instant.Span.hours(1)

  /// The row to write for a proof that was used at `time`; nil if that was done within the hour.
  func due(_ provider: ObjectKey.Provider, _ proof: String, at time: Instant) -> ProofRow? {
    let noted = times.withLock { $0.value(Self.name(provider, proof)) }
    if let noted, time < noted + Self.interval { return nil }
    return ProofRow(provider: provider, proof: proof, first: time, last: time)
  }

  /// Call it once the row is durable.
  func insert(_ row: ProofRow) {
    times.withLock { $0.set(Self.name(row.provider, row.proof), row.last) }
  }

  private static func name(_ provider: ObjectKey.Provider, _ proof: String) -> String {
    "\(provider.rawValue) \(proof)"
  }
}
