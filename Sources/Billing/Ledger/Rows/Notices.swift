package import Base
import Jobs
package import Storage

/// Whether apps are notified of changes, and the jobs that notify them, one for each account.
package enum Notices {
  package static let job = "notice"

  /// Requests a check whether an account needs a notice.
  package static func request(
    _ account: Identifier, at due: Instant, in transaction: Transaction
  ) throws {
    try Jobs.request(job, account.description, due: due, in: transaction)
  }

  /// What is known of the receiver of notices.
  package struct Receiver: Sendable {
    package let urlDigest: String
    /// When it answered that it wants no more; nil while it is notified.
    package let disabled: Instant?
  }

  package static func receiver(reading database: some Queryable) throws -> Receiver? {
    try database.first("SELECT url_digest, disabled_ms FROM billing.notice_receiver") { row in
      Receiver(urlDigest: try row.text(0), disabled: try row.optionalInstant(1))
    }
  }

  /// Records that apps are notified from now on. A new address is notified even if the earlier one
  /// wanted no more.
  package static func establish(_ urlDigest: String, in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.notice_receiver (id, url_digest) VALUES (1, $1)
      ON CONFLICT (id) DO UPDATE SET url_digest = excluded.url_digest, disabled_ms =
        CASE WHEN notice_receiver.url_digest = excluded.url_digest
          THEN notice_receiver.disabled_ms END
      """, .text(urlDigest))
  }

  /// Records that no one is notified any more, and deletes jobs that would do so. Returns true
  /// while there may be more.
  package static func end(limit: Int, in transaction: Transaction) throws -> Bool {
    try transaction.execute("DELETE FROM billing.notice_receiver")
    let objects = try transaction.rows(
      "SELECT object FROM billing.jobs WHERE kind = $1 LIMIT $2", .text(job),
      .integer(Int64(limit))
    ) { row in try row.text(0) }
    for object in objects {
      try transaction.execute(
        "DELETE FROM billing.jobs WHERE kind = $1 AND object = $2", .text(job), .text(object))
    }
    return objects.count == limit
  }

  /// Records when the receiver answered that it wants no more; nil if it is notified again.
  package static func setDisabled(
    _ moment: Instant?, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE billing.notice_receiver SET disabled_ms = $1", .instant(moment))
  }
}
