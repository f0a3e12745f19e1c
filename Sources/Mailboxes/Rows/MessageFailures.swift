package import Base
package import Storage

/// How many of the messages that they acknowledged the devices of an account could not use.
package struct MessageFailures: Sendable {
  package let count: Int64
  /// What the latest of them said; nil if there is none.
  package let last: String?
  private let at: Instant?

  package init(_ queryable: some Queryable, of account: Identifier) throws {
    let found = try queryable.first(
      """
      SELECT failure_count, failure, failed_ms FROM sync.mailbox_totals WHERE account_id = $1
      """, .id(account)
    ) { row in (try row.integer(0), try row.optionalText(1), try row.optionalInstant(2)) }
    (count, last, at) = found ?? (0, nil, nil)
  }

  package var text: String {
    guard let last, let at else { return "no message to its devices" }
    return "\(count) \(count == 1 ? "message" : "messages") to its devices; \(last) at \(at)"
  }
}
