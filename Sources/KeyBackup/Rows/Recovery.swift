package import Base
import JSON
import Requests
package import Storage

extension News.Topic {
  /// The recovery key, the key backup and recoveries: what `GET /v1/recovery` shows.
  static let recovery = News.Topic("recovery")
}

/// What a recovery key asked for: to read the key backup, and to let a device in.
package struct Recovery: Sendable {
  package enum State: String, Sendable {
    /// Devices can refuse it until it opens.
    case waiting
    /// Its device is in, and its key reads the backup.
    case open
    /// A device refused it.
    case refused
    /// Its time is over, or its key was removed.
    case ended
    /// It opened, and its device could not be let in.
    case failed
  }

  /// The device that it lets in, with the signatures of the recovery key and of the device's own.
  struct Guest: Sendable {
    let key: [UInt8]
    let label: String
    let created: Int64
    let signature: [UInt8]
    let proof: [UInt8]
  }

  let account: Identifier
  let number: Int64
  let key: [UInt8]
  package let state: State
  let asked: Instant
  package let opens: Instant
  let ended: Instant?
  let guest: Guest?

  /// For how long the recovery key reads the backup once the recovery is open.
  static let openSpan = Instant.Span.days(7)
  /// The recoveries of an account that stay on record.
  static let countMax: Int64 = 50
  /// The recoveries that an account's key may ask for within a day.
  static let countPerDay: Int64 = 3

  var closes: Instant { opens + Self.openSpan }

  /// Whether its key reads the backup. The state may be late by some seconds.
  func isOpen(at now: Instant) -> Bool {
    (state == .waiting || state == .open) && opens <= now && now < closes
  }

  /// SQL: what has ended, though its row is yet to say so. It was asked for before the database was restored, and a
  /// device may have refused it since the backup. Or it waits while the account is suspended.
  static let hasEnded = """
    (history_id <> (SELECT h.history_id FROM sync.history AS h WHERE h.id = 1)
      OR state = 'waiting' AND \(isOfSuspended))
    """

  private static let isOfSuspended = isSuspended("recoveries.account_id")

  /// SQL: whether an operator has suspended an account, so that its devices are told of nothing. A deletion suspends
  /// it as well, and keeps whether it was suspended before.
  static func isSuspended(_ account: String) -> String {
    """
    EXISTS (SELECT 1 FROM sync.accounts AS a
      LEFT JOIN sync.account_deletions AS d ON d.account_id = a.id
      WHERE a.id = \(account) AND
        (CASE WHEN d.account_id IS NULL THEN a.suspended_ms ELSE d.suspended_ms END) IS NOT NULL)
    """
  }

  private static let columns = """
    account_id, number, recovery_key,
    CASE WHEN look_ms IS NOT NULL AND \(hasEnded) THEN 'ended' ELSE state END,
    asked_ms, opens_ms, ended_ms, device_key, label, statement_created_s, statement_signature,
    statement_proof
    """

  private init(row: borrowing Row) throws {
    account = try row.id(0)
    number = try row.integer(1)
    key = try row.blob(2)
    state = State(rawValue: try row.text(3)) ?? .ended
    asked = try row.instant(4)
    opens = try row.instant(5)
    ended = try row.optionalInstant(6)
    guest =
      if let key = try row.optionalBlob(7) {
        Guest(
          key: key, label: try row.text(8), created: try row.integer(9),
          signature: try row.blob(10), proof: try row.blob(11))
      } else {
        nil
      }
  }

  /// The account's recovery that waits or is open; nil if there is none.
  package static func live(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> Recovery? {
    try unfinished(queryable, of: account).flatMap { $0.state == .ended ? nil : $0 }
  }

  /// The same, or the one that has ended and whose row is yet to say so.
  static func unfinished(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> Recovery? {
    try queryable.first(
      """
      SELECT \(columns) FROM sync.recoveries WHERE account_id = $1 AND look_ms IS NOT NULL
      """, .id(account)
    ) { row in try Recovery(row: row) }
  }

  /// The account's recoveries that are on record, the latest first.
  static func list(_ queryable: some Queryable, of account: Identifier) throws -> [Recovery] {
    try queryable.rows(
      "SELECT \(columns) FROM sync.recoveries WHERE account_id = $1 ORDER BY number DESC LIMIT $2",
      .id(account), .integer(countMax)
    ) { row in try Recovery(row: row) }
  }

  static func find(
    _ queryable: some Queryable, _ number: Int64, of account: Identifier
  ) throws -> Recovery? {
    try queryable.first(
      "SELECT \(columns) FROM sync.recoveries WHERE account_id = $1 AND number = $2",
      .id(account), .integer(number)
    ) { row in try Recovery(row: row) }
  }

  var json: JSONValue {
    [
      "number": .integer(number), "state": .string(state.rawValue),
      "asked": .string(asked.description), "opens": .string(opens.description),
      "closes": .string(closes.description),
      "ended": ended.map { .string($0.description) } ?? .null,
      "device": .base64(guest?.key), "label": guest.map { .string($0.label) } ?? .null,
    ]
  }
}
