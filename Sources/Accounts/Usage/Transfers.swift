package import Base
package import JSON
package import Storage

/// Content bytes sent to and received from clients, by the charged account and the UTC month.
package struct Transfers: Sendable {
  /// One month's transfers, as of the last flush to the database.
  package struct Month: Sendable, Equatable {
    /// yyyymm
    package let number: Int64
    package var sentByteCount: Int64
    package var receivedByteCount: Int64

    /// Like `2026-11`.
    package var text: String {
      let month = number % 100
      return "\(number / 100)-\(month < 10 ? "0" : "")\(month)"
    }

    package var json: JSONValue {
      [
        "month": .string(text), "sent": .integer(sentByteCount),
        "received": .integer(receivedByteCount),
      ]
    }
  }

  /// This month and the one before, without the last ten seconds that are not flushed; either may be empty.
  package static func recent(
    _ queryable: some Queryable, _ account: Identifier, now: Instant
  ) throws -> [Month] {
    let this = now.month
    let found = try months(queryable, account, limit: 2)
    return [this, this % 100 == 1 ? this - 89 : this - 1].map { number in
      found.first { $0.number == number }
        ?? Month(number: number, sentByteCount: 0, receivedByteCount: 0)
    }
  }

  /// An account's months, latest first; at most `limit`.
  package static func months(
    _ queryable: some Queryable, _ account: Identifier, limit: Int64 = 24
  ) throws -> [Month] {
    try queryable.rows(
      """
      SELECT month, sent_bytes, received_bytes FROM sync.transfers
      WHERE owner_id = $1 ORDER BY month DESC LIMIT $2
      """,
      .id(account), .integer(limit)
    ) { row in
      Month(
        number: try row.integer(0), sentByteCount: try row.integer(1),
        receivedByteCount: try row.integer(2))
    }
  }
}
