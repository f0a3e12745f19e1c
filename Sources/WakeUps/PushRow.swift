import Base
import Crypto
import Storage
import Streams

/// A device's registration at the push gateway, and the wake-up that waits for it.
struct PushRow: Sendable {
  let publicKey: [UInt8]
  let account: Identifier
  /// What the gateway knows the device by. It is for no one else, so it is in no log.
  let pushID: String
  /// What the account was like when the device was last woken: its sequence number, and a digest of the rest.
  let number: Int64
  let digest: [UInt8]
  let wakeUp: Identifier?
  /// The end of the last wake-up that the gateway took; nil if there was none.
  let sent: Instant?
  let failureCount: Int64

  private static let columns = """
    public_key, account_id, push_id, seq, digest, wake_up_id, sent_ms, failure_count
    """

  private init(_ row: borrowing Row) throws {
    publicKey = try row.blob(0)
    account = try row.id(1)
    pushID = try row.text(2)
    number = try row.integer(3)
    digest = try row.blob(4)
    wakeUp = try row.optionalID(5)
    sent = try row.optionalInstant(6)
    failureCount = try row.integer(7)
  }

  /// Whether the account has changed since the device was last woken.
  func differs(from seen: Look.Seen) -> Bool { number != seen.number || digest != seen.digest }

  // MARK: Registrations

  /// Registers a device, which knows the account as it is. A push id is of the device that registered it last.
  static func register(
    _ publicKey: [UInt8], of account: Identifier, _ pushID: String, _ seen: Look.Seen,
    now: Instant, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM sync.push_ids WHERE push_id = $1 AND public_key <> $2", .text(pushID),
      .blob(publicKey))
    try transaction.execute(
      """
      INSERT INTO sync.push_ids (public_key, account_id, push_id, registered_ms, seq, digest)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (public_key) DO UPDATE SET push_id = excluded.push_id,
        registered_ms = excluded.registered_ms, seq = excluded.seq, digest = excluded.digest,
        wake_up_id = NULL, due_ms = NULL, failure_count = 0
      """, .blob(publicKey), .id(account), .text(pushID), .instant(now), .integer(seen.number),
      .blob(seen.digest))
  }

  static func remove(_ publicKey: [UInt8], in transaction: Transaction) throws {
    try transaction.execute("DELETE FROM sync.push_ids WHERE public_key = $1", .blob(publicKey))
  }

  /// The next accounts with registered devices, in the order of their ids.
  static func accounts(
    after account: Identifier?, atMost count: Int, reading reader: Reader
  ) throws -> [Identifier] {
    try reader.rows(
      """
      SELECT DISTINCT account_id FROM sync.push_ids WHERE account_id > $1
      ORDER BY account_id LIMIT $2
      """, account.map { .id($0) } ?? .blob([]), .integer(Int64(count))
    ) { row in try row.id(0) }
  }

  // MARK: Wake-ups

  /// The devices of the accounts for which no wake-up waits.
  static func quiet(
    of accounts: some Sequence<Identifier>, reading reader: Reader
  ) throws -> [PushRow] {
    try SQLList.slices(of: accounts.map { .id($0) }, after: 0).flatMap { list in
      try reader.rows(
        """
        SELECT \(columns) FROM sync.push_ids
        WHERE account_id IN (\(list.parameters)) AND due_ms IS NULL
        """, values: list.values
      ) { row in try PushRow(row) }
    }
  }

  /// The devices whose wake-ups are due, those that wait longest first.
  static func due(at now: Instant, atMost count: Int, reading reader: Reader) throws -> [PushRow] {
    try reader.rows(
      """
      SELECT \(columns) FROM sync.push_ids WHERE due_ms <= $1 ORDER BY due_ms LIMIT $2
      """, .instant(now), .integer(Int64(count))
    ) { row in try PushRow(row) }
  }

  static func firstDue(reading reader: Reader) throws -> Instant? {
    try reader.first(
      "SELECT due_ms FROM sync.push_ids WHERE due_ms IS NOT NULL ORDER BY due_ms LIMIT 1"
    ) { row in try row.instant(0) }
  }

  func plan(at due: Instant, in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.push_ids SET due_ms = $4, wake_up_id = $5
      WHERE public_key = $1 AND seq = $2 AND digest = $3 AND due_ms IS NULL
      """, .blob(publicKey), .integer(number), .blob(digest), .instant(due),
      .id(Random.identifier()))
  }

  /// Notes that the device made all changes up to `number` itself.
  func note(_ number: Int64, in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.push_ids SET seq = $4
      WHERE public_key = $1 AND seq = $2 AND digest = $3 AND due_ms IS NULL
      """, .blob(publicKey), .integer(self.number), .blob(digest), .integer(number))
  }

  /// Takes the wake-up, so that no other instance sends it until `moment`. Returns false if one was first.
  func lease(
    until moment: Instant, at now: Instant, _ seen: Look.Seen, in transaction: Transaction
  ) throws -> Bool {
    try transaction.execute(
      """
      UPDATE sync.push_ids SET due_ms = $3, seq = $5, digest = $6
      WHERE public_key = $1 AND wake_up_id = $2 AND due_ms <= $4
      """, .blob(publicKey), .id(wakeUp), .instant(moment), .instant(now), .integer(seen.number),
      .blob(seen.digest)) == 1
  }

  /// Ends the wake-up. `next` is when another one is due, nil if none is. Without `sent` the gateway did not take it.
  func end(sent: Instant?, next: Instant?, in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.push_ids SET due_ms = $3, wake_up_id = $4, sent_ms = coalesce($5, sent_ms),
        failure_count = 0
      WHERE public_key = $1 AND wake_up_id = $2
      """, .blob(publicKey), .id(wakeUp), .instant(next),
      next == nil ? .null : .id(Random.identifier()), .instant(sent))
  }

  func postpone(until due: Instant, in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.push_ids SET due_ms = $3, failure_count = failure_count + 1
      WHERE public_key = $1 AND wake_up_id = $2
      """, .blob(publicKey), .id(wakeUp), .instant(due))
  }

  /// Removes the registration, unless the device has registered anew.
  func forget(in transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM sync.push_ids WHERE public_key = $1 AND wake_up_id = $2", .blob(publicKey),
      .id(wakeUp))
  }
}
