package import Base
import Crypto
import Requests
package import Storage

/// The history that this database's sequence numbers belong to, and the key that proves its cursors.
package struct History: Sendable {
  package let id: Identifier
  package let cursorKey: Secret

  /// Identifies the database. A restored database gets a new id. Nil if coffer-sync has never started on it.
  package static func id(reading reader: Reader) throws -> Identifier? {
    try reader.first("SELECT history_id FROM sync.history WHERE id = 1") { row in try row.id(0) }
  }

  /// Writes the missing parts. Several programs may call it at once.
  package static func establish(_ database: Database) throws {
    try database.write(for: nil) { transaction in
      let key = Random.bytes(32)
      try transaction.execute(
        """
        INSERT INTO sync.history (id, history_id, cursor_key) VALUES (1, $1, $2)
        ON CONFLICT (id) DO NOTHING
        """, .id(Random.identifier()), .blob(key))
      try transaction.execute(
        "UPDATE sync.history SET cursor_key = $1 WHERE id = 1 AND cursor_key IS NULL", .blob(key))
    }
  }

  /// More numbers than an account has taken since a backup.
  private static let lostCountMax = 1_000_000_000
  private static let raisedCountMax = 5000

  /// Begins a new history, so that clients fetch everything again, of which they may know more than a restored
  /// database. Numbers taken after the backup are not given again: a device that knows one would take another's
  /// change for its own.
  package static func renew(at location: DatabaseLocation) throws {
    let database = try Database.open(location, owning: .sync, .acceptsEarlier)
    defer { database.close() }
    var last: Identifier?
    repeat {
      last = try database.write(for: nil) { [last] in try raiseNumbers($0, after: last) }
    } while last != nil
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1, cursor_key = $2 WHERE id = 1",
        .id(Random.identifier()), .blob(Random.bytes(32)))
    }
  }

  /// Raises the numbers of the next accounts in the order of ids. Returns the last of them; nil if there are no more.
  private static func raiseNumbers(
    _ transaction: Transaction, after account: Identifier?
  ) throws -> Identifier? {
    let before = account.map { SQLValue.id($0) } ?? .blob([])
    let accounts = try transaction.ids(
      "SELECT id FROM sync.accounts WHERE id > $1 ORDER BY id LIMIT \(raisedCountMax)", before)
    guard let last = accounts.last else { return nil }
    try transaction.execute(
      "UPDATE sync.accounts SET seq = seq + \(lostCountMax) WHERE id > $1 AND id <= $2", before,
      .id(last))
    return last
  }

  /// The version after `version` (0: none), in an account at `sequence`, above all that restores have lost.
  package static func version(after version: Int64, at sequence: Int64) -> Int64 {
    let lost = Int64(lostCountMax)
    return max(version, sequence / lost * lost) + 1
  }

  package static func current(_ queryable: some Queryable) throws -> History {
    let found = try queryable.first(
      "SELECT history_id, cursor_key FROM sync.history WHERE id = 1"
    ) { row in (try row.id(0), try row.optionalBlob(1)) }
    guard let (id, key) = found, let key else {
      throw DatabaseError.unavailable(reason: "coffer-sync has never started on it")
    }
    return History(id: id, cursorKey: Secret(key))
  }
}
