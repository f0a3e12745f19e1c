import Accounts
import Base
import JSON
import Requests
import Storage

/// Sends a client the changes since its last request, in pages, without gaps.
enum Updates {
  static let limitDefault = 500
  static let limitMax = 1000
  /// The most rows of other owners that one page examines, visible to the account or not.
  static let examinedCountMax = 2000

  struct Question: Sendable {
    let credentials: Credentials
    /// The text of a cursor, not yet decoded.
    let since: String?
    let limit: Int

    /// Reads `since` and `limit` from the query, each at most once; other names are ignored.
    init(_ credentials: Credentials, query: Substring?) throws {
      self.credentials = credentials
      var since: String?
      var limit: Int?
      for (name, value) in queryFields(query) {
        switch name {
        case "since":
          guard since == nil else { throw Refusal.cursorInvalid }
          since = value
        case "limit":
          guard limit == nil, let number = Int(value), 1...limitMax ~= number,
            String(number) == value
          else { throw RequestRefusal.limitInvalid(max: limitMax) }
          limit = number
        default: break
        }
      }
      self.since = since
      self.limit = limit ?? limitDefault
    }
  }

  struct Page: Sendable {
    let changes: [Change]
    /// Owners whose trees are sent again from their beginning.
    let restart: [Identifier]
    /// Owners of visible files whose accounts are being deleted.
    let leaving: [LeavingOwner]
    /// Live keys of the account that an operator added without a signature of its other keys.
    let operatorKeys: [Device]
    let cursor: String
    let hasMore: Bool

    /// The JSON text, written change by change: as one value a long page would take several times its memory.
    func encoded() -> [UInt8] {
      let rest: JSONValue = [
        "restart": .array(restart.map { .string($0.description) }),
        "leaving": .array(leaving.map(\.json)),
        "operator_keys": .array(operatorKeys.map(\.json)),
        "cursor": .string(cursor), "more": .bool(hasMore),
      ]
      var text = Array("{\"changes\":[".utf8)
      text.reserveCapacity(changes.count * Self.byteCountUsual)
      for (index, change) in changes.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text += change.json.encoded()
      }
      text += Array("],".utf8) + rest.encoded().dropFirst()
      return text
    }

    /// The size of a record with short ciphertexts.
    private static let byteCountUsual = 1024
  }

  /// One snapshot holds every change up to its numbers, because they are given out under their owner's lock.
  static func page(
    _ reader: Reader, _ question: Question, limits: SyncLimits, now: Instant
  ) throws -> Page {
    let account = try Caller(reader, question.credentials, now: now).account
    let history = try History.current(reader)
    let since = try question.since.map { text throws(Refusal) in
      try Cursor(text, of: history)
    }
    if let since {
      guard since.account == account else { throw Refusal.cursorInvalid }
      guard now - since.caughtUp <= limits.deletionHorizon else { throw Refusal.cursorExpired }
    }
    var cursor = since ?? Cursor(history: history.id, account: account, caughtUp: now)
    let views = try View.all(of: account, reader)
    let restart = views.filter { cursor.views[$0.number] == nil }.map(\.owner)
    cursor.views = Dictionary(
      uniqueKeysWithValues: views.map { ($0.number, cursor.views[$0.number] ?? $0.from) })

    let (last, hasOperatorKeys) = try state(of: account, reader)
    let own = OwnStream(account: account, last: last)
    var changes = try own.read(reader, after: &cursor.sequence, limit: question.limit)
    var hasMore = cursor.sequence < own.last
    var tree = AncestorTree(seenBy: account)
    var examinable = examinedCountMax
    for view in views {
      var read = cursor.views[view.number] ?? view.from
      changes += try view.read(
        reader, after: &read, limit: question.limit - changes.count, examinable: &examinable,
        &tree)
      cursor.views[view.number] = read
      hasMore = hasMore || read < view.last
    }
    if !hasMore { cursor.caughtUp = now }
    return Page(
      changes: changes, restart: restart, leaving: views.compactMap(\.leaving),
      operatorKeys: hasOperatorKeys
        ? try Device.list(reader, of: account).filter(\.isByOperator) : [],
      cursor: cursor.text(key: history.cursorKey),
      hasMore: hasMore)
  }

  /// The account's last number, and whether an operator ever added a key, in one statement.
  private static func state(
    of account: Identifier, _ reader: Reader
  ) throws -> (last: Int64, hasOperatorKeys: Bool) {
    try reader.first(
      """
      SELECT seq, (SELECT count(*) FROM sync.device_keys
        WHERE account_id = $1 AND revoked_ms IS NULL AND by_operator = 1)
      FROM sync.accounts WHERE id = $1
      """, .id(account)
    ) { row in (try row.integer(0), try row.integer(1) > 0) } ?? (0, false)
  }
}

enum Change: Sendable {
  /// The current record, with the shares of it that the account may see.
  case file(FileRecord, [Share])
  /// The account's own share, with the record if only the share makes it visible.
  case share(Share, FileRecord?)
  case left(Identifier, owner: Identifier)

  var json: JSONValue {
    switch self {
    case .file(let record, let shares): ["file": record.json(shares: shares)]
    case .share(let share, nil): ["share": share.json]
    case .share(let share, let record?):
      ["share": share.json, "file": record.json(shares: [share])]
    case .left(let file, let owner):
      ["left": ["file": .string(file.description), "owner": .string(owner.description)]]
    }
  }
}
