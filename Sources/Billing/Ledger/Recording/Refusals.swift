package import Base
package import Storage
package import Subscriptions

/// A refused delivery. Nothing of its content is kept, because its sender is unknown.
package struct RefusedDelivery: Sendable {
  package let at: Instant
  package let provider: ObjectKey.Provider
  /// One of a small set.
  package let reason: String
  /// The request id in the answer, by which the log is searched.
  package let request: String

  package init(at: Instant, provider: ObjectKey.Provider, reason: String, request: String) {
    self.at = at
    self.provider = provider
    self.reason = reason
    self.request = request
  }
}

/// The number of a store's deliveries that were ever refused for one reason.
package struct RefusalCount: Sendable {
  package let provider: ObjectKey.Provider
  package let reason: String
  package let count: Int64
  package let first: Instant
  package let last: Instant

  package init(
    provider: ObjectKey.Provider, reason: String, count: Int64, first: Instant, last: Instant
  ) {
    self.provider = provider
    self.reason = reason
    self.count = count
    self.first = first
    self.last = last
  }
}

/// The last refused deliveries, and the counts of all: 100 rows, and one for each reason.
package enum Refusals {
  package static let keptCountMax = 100

  /// Adds what came since the last call, ascending by time.
  package static func write(
    _ refused: [RefusedDelivery], _ counts: [RefusalCount], in transaction: Transaction
  ) throws {
    // Programs that run at the same time take numbers one after another.
    try LedgerSequence.lock(in: transaction)
    var number =
      try transaction.first("SELECT COALESCE(max(number), 0) FROM billing.refusals") { row in
        try row.integer(0)
      } ?? 0
    for one in refused.suffix(keptCountMax) {
      number += 1
      try transaction.execute(
        """
        INSERT INTO billing.refusals (number, at_ms, provider, reason, request)
        VALUES ($1, $2, $3, $4, $5)
        """, .integer(number), .instant(one.at), .text(one.provider.rawValue), .text(one.reason),
        .text(one.request))
    }
    try transaction.execute(
      "DELETE FROM billing.refusals WHERE number <= $1", .integer(number - Int64(keptCountMax)))
    for count in counts {
      try transaction.execute(
        """
        INSERT INTO billing.refusal_counts (provider, reason, count, first_ms, last_ms)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (provider, reason) DO UPDATE SET
          count = refusal_counts.count + excluded.count, last_ms = excluded.last_ms
        """, .text(count.provider.rawValue), .text(count.reason), .integer(count.count),
        .instant(count.first), .instant(count.last))
    }
  }

  /// Newest first.
  package static func latest(
    countMax: Int, reading reader: Reader
  ) throws -> [RefusedDelivery] {
    try reader.rows(
      """
      SELECT at_ms, provider, reason, request FROM billing.refusals ORDER BY number DESC LIMIT $1
      """, .integer(countMax)
    ) { row in
      (try row.instant(0), try row.text(1), try row.text(2), try row.text(3))
    }.compactMap { at, name, reason, request in
      ObjectKey.Provider(rawValue: name).map {
        RefusedDelivery(at: at, provider: $0, reason: reason, request: request)
      }
    }
  }

  /// By store and reason.
  package static func counts(reading reader: Reader) throws -> [RefusalCount] {
    try reader.rows(
      """
      SELECT provider, reason, count, first_ms, last_ms FROM billing.refusal_counts
      ORDER BY provider, reason LIMIT 1000
      """
    ) { row in
      (
        try row.text(0), try row.text(1), try row.integer(2), try row.instant(3),
        try row.instant(4)
      )
    }.compactMap { name, reason, count, first, last in
      ObjectKey.Provider(rawValue: name).map {
        RefusalCount(provider: $0, reason: reason, count: count, first: first, last: last)
      }
    }
  }
}
