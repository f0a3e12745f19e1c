internal import Base
internal import Crypto
internal import JSON
package import Storage

/// Tells a client what changed since it last asked, in pages, skipping nothing.
enum Updates {
  static let limitDefault = 500
  static let limitMax = 1000

  struct Question: Sendable {
    let credentials: Credentials
    let since: Cursor?
    let limit: Int

    /// `since` and `limit` from the query; anything else in it is ignored.
    init(_ credentials: Credentials, query: Substring?) throws(Refusal) {
      self.credentials = credentials
      var since: Cursor?
      var limit = limitDefault
      for pair in (query ?? "").split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1]) : ""
        switch parts[0] {
        case "since":
          guard let cursor = Cursor(value) else { throw .cursorInvalid }
          since = cursor
        case "limit":
          guard let number = Int(value), 1...limitMax ~= number else { throw .limitInvalid }
          limit = number
        default: break
        }
      }
      self.since = since
      self.limit = limit
    }
  }

  struct Page: Sendable {
    let changes: [FileRecord]
    let cursor: Cursor
    let hasMore: Bool

    var json: JSONValue {
      [
        "changes": .array(changes.map(\.json)), "cursor": .string(cursor.text),
        "more": .bool(hasMore),
      ]
    }
  }

  /// One consistent snapshot: every change up to the page's last sequence number is in it or in an
  /// earlier page, because numbers are given out under the owner's lock.
  static func page(_ reader: Reader, _ question: Question, now: Instant) throws -> Page {
    let account = try Caller(reader, question.credentials, now: now).account
    let history = try History.current(reader)
    if let since = question.since {
      guard since.owner == account else { throw Refusal.cursorInvalid }
      guard since.history == history else { throw Refusal.historyChanged }
    }
    let seen = question.since?.sequence ?? 0
    let found = try reader.rows(
      """
      SELECT \(FileRecord.columns) FROM sync.files
      WHERE owner_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
      """, .id(account), .integer(seen), .integer(Int64(question.limit) + 1)
    ) { row in try FileRecord(row: row) }
    let changes = Array(found.prefix(question.limit))
    return Page(
      changes: changes,
      cursor: Cursor(
        history: history, owner: account, sequence: changes.last?.sequence ?? seen),
      hasMore: found.count > question.limit)
  }
}

/// Which history this database's sequence numbers belong to.
package enum History {
  /// Writes the first history where there is none; safe to call from several programs at once.
  package static func establish(_ database: Database) throws {
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "INSERT INTO sync.history (id, history_id) VALUES (1, $1) ON CONFLICT (id) DO NOTHING",
        .id(Random.identifier()))
    }
  }

  static func current(_ queryable: some Queryable) throws -> Identifier {
    let found = try queryable.first("SELECT history_id FROM sync.history WHERE id = 1") { row in
      try row.id(0)
    }
    guard let found else {
      throw DatabaseError.unavailable(reason: "the history was never established")
    }
    return found
  }
}
