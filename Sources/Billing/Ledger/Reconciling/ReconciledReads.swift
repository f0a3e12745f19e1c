package import Base
import Crypto
import Jobs
package import Storage
package import Subscriptions

/// The reads that an open reconciliation requested and has not judged yet. The jobs for all other
/// reads do these as well.
extension Reconciliation {
  /// The most that wait at a time, so that reads for deliveries never wait long behind them.
  package static let readCountMax = 100
  /// How long the run waits for a read. After that the read no longer counts for the run, but its
  /// job goes on.
  private static let patience = Instant.Span.minutes(30)

  package func waitingCount(reading database: some Queryable) throws -> Int {
    Int(
      try database.first(
        "SELECT count(*) FROM billing.reconciled_reads WHERE provider = $1",
        .text(provider.rawValue)
      ) { row in try row.integer(0) } ?? 0)
  }

  /// Requests a read of an object, without its parts if they were compared. The result is judged later.
  package mutating func ask(
    _ key: ObjectKey, isShallow: Bool = false, _ ledger: Ledger, at now: Instant,
    in transaction: Transaction
  ) throws {
    counts.examined += 1
    guard try ledger.read(key, isShallow: isShallow, at: now, in: transaction) == .asked else {
      counts.unreachable += 1
      return
    }
    try transaction.execute(
      """
      INSERT INTO billing.reconciled_reads (provider, object, asked_ms, before)
      VALUES ($1, $2, $3, $4) ON CONFLICT (provider, object) DO NOTHING
      """, .text(provider.rawValue), .text(key.description), .instant(now),
      .text(try Self.derived(of: key, ledger, reading: transaction).digest))
  }

  /// Whether everything that a list shows is known with the same content, and with no other as well.
  package static func agrees(
    with shown: [Fact], _ ledger: Ledger, reading database: any Queryable
  ) throws -> Bool {
    let known = try ledger.reading(database).mirrors(of: shown.map(\.key)).map(\.fact)
    return shown.allSatisfy { fact in
      let siblings = known.filter { $0.key == fact.key }
      return !siblings.isEmpty && siblings.allSatisfy { $0.object == fact.object }
    }
  }

  /// Judges the reads that finished meanwhile or waited too long.
  package mutating func judge(
    _ ledger: Ledger, at now: Instant, in transaction: Transaction
  ) throws {
    let waiting = try transaction.rows(
      """
      SELECT object, asked_ms, before FROM billing.reconciled_reads
      WHERE provider = $1 ORDER BY object LIMIT $2
      """, .text(provider.rawValue), .integer(Int64(2 * Self.readCountMax))
    ) { row in (try row.text(0), try row.instant(1), try row.text(2)) }
    for (object, asked, before) in waiting {
      let job = try Jobs.find(Ledger.readJob, object, reading: transaction)
      switch job?.state {
      case .settled:
        if let key = ObjectKey(object) {
          let (digest, isDirty) = try Self.derived(of: key, ledger, reading: transaction)
          if isDirty {
            counts.disputed += 1
          } else if digest == before {
            counts.agreed += 1
          } else {
            try noteRepair(.object(key), since: asked, at: now, in: transaction)
          }
        }
      case .waiting, .running:
        guard asked + Self.patience <= now else { continue }
        counts.unreachable += 1
      case .dead, nil: counts.unreachable += 1
      }
      try transaction.execute(
        "DELETE FROM billing.reconciled_reads WHERE provider = $1 AND object = $2",
        .text(provider.rawValue), .text(object))
    }
  }

  /// The state derived for an object's subscriptions, as a digest, and whether it contradicts itself.
  private static func derived(
    of key: ObjectKey, _ ledger: Ledger, reading database: any Queryable
  ) throws -> (digest: String, isDirty: Bool) {
    var text = ""
    var isDirty = false
    for subscription in try ledger.subscriptions(of: key, reading: database) {
      let row = try SubscriptionRow(subscription, reading: database)
      let state = row.map {
        "\($0.owner?.description ?? "-") \($0.labelWithoutAccess.rawValue) \($0.willRenew ? 1 : 0) "
          + $0.coverage
      }
      text += "\(subscription) \(state ?? "-")\n"
      isDirty = isDirty || row?.isDirty == true
    }
    return (Hex.encode(SHA256.hash(Array(text.utf8))), isDirty)
  }
}
