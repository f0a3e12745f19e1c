import Base
import Crypto
import Ledger
import Storage
import Stores
import Subscriptions

/// Keys and secrets that have not been used for a long time.
extension AttentionList {
  /// How long a secret must have proved nothing, while another did, to count as unused. Longer than
  /// any store retries.
  private static let unusedSpan = Instant.Span.days(7)
  /// How long a device's key must have opened no session to count as idle.
  private static let idleSpan = Instant.Span.days(365)

  /// One item for all idle keys, which names the one that is idle for longest.
  static func idleKeys(at now: Instant, _ reader: Reader) throws -> [Attention] {
    let idle = "FROM sync.device_keys WHERE revoked_ms IS NULL AND last_session_ms < $1"
    let before = SQLValue.instant(now - idleSpan)
    let first = try reader.first(
      "SELECT public_key, account_id, last_session_ms \(idle) ORDER BY last_session_ms LIMIT 1",
      before
    ) { row in (key: try row.blob(0), account: try row.id(1), last: try row.instant(2)) }
    guard let first else { return [] }
    let count =
      try reader.first(
        "SELECT count(*) FROM (SELECT 1 \(idle) LIMIT $2) AS found", before, .integer(countMax)
      ) { row in try row.integer(0) } ?? 0
    let keys = count == 1 ? "1 key" : "\(count)\(count < countMax ? "" : " or more") keys"
    return [
      Attention(
        kind: .idleKey, subject: Hex.encode(first.key), account: first.account, detail: keys,
        since: first.last)
    ]
  }

  /// The unused secrets of stores that accept several. They show a rotation that no one completed.
  static func unusedSecrets(
    of stores: StoreList, _ reader: Reader
  ) throws -> [Attention] {
    try stores.flatMap { store -> [Attention] in
      let proofs = store.webhook?.proofs ?? []
      guard proofs.count > 1 else { return [] }
      let used = try ProofRow.all(of: store.provider, countMax: 100, reading: reader)
      guard let newest = used.map(\.last).max() else { return [] }
      return used.filter { proofs.contains($0.proof) && $0.last < newest - unusedSpan }.map { row in
        Attention(
          kind: .unusedSecret, subject: store.provider.rawValue, detail: row.proof,
          since: row.last)
      }
    }
  }
}
