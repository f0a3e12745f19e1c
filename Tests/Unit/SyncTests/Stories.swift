import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices

/// Steps of a story that must succeed for the story to continue.
extension TestDevice {
  /// Creates a file under the root or `parent`.
  func add(
    _ type: String = "document", in parent: Identifier? = nil, owner: Identifier? = nil,
    hmac: [UInt8] = Random.bytes(32)
  ) throws -> Identifier {
    let (id, answer) = try create(type, parent: parent, owner: owner, hmac: hmac)
    try answer.requireSuccess()
    return id
  }

  /// Creates folders one within the other; the outermost comes first.
  func addChain(
    _ count: Int, in parent: Identifier? = nil, owner: Identifier? = nil
  ) throws -> [Identifier] {
    let changes = try chain(count, in: parent, owner: owner)
    try batch(files: changes).requireSuccess()
    return changes.map(\.file.id)
  }

  func chain(
    _ count: Int, in parent: Identifier? = nil, owner: Identifier? = nil
  ) throws -> [FileChange] {
    var changes: [FileChange] = []
    for _ in 0..<count {
      changes.append(
        try creation("folder", parent: changes.last?.file.id ?? parent, owner: owner))
    }
    return changes
  }

  /// Sends a batch with one file, of which `body` gives only the changes.
  func change(_ id: Identifier, _ body: (inout FileStatement) -> Void) throws -> Answer {
    try batch(files: [record(id).change(body)])
  }

  /// This account's own share of a file, or the share that `account` has of this account's file.
  func share(of file: Identifier, for account: Identifier? = nil) throws -> SeenShare? {
    let account = try account ?? self.account
    return try record(file).shares.first { $0.account == account }
  }

  /// Everything that a fresh client of the account sees.
  func pulled(limit: Int? = nil) throws -> Replica {
    var replica = Replica(self)
    try replica.pull(limit: limit)
    return replica
  }

  func usage() throws -> Int64 { try get("/v1/account").json["usage"].integer ?? -1 }
}

extension Answer {
  func requireSuccess() throws {
    guard status == 200 || status == 204 else { throw UnexpectedAnswer(self) }
  }

  /// The files that the answer asks the client to pull.
  var staleFiles: Set<String> {
    get throws { Set(try (json["files"].array ?? []).compactMap(\.string)) }
  }
}

extension TestServer {
  /// A digest of everything that batches write: equal if nothing was written.
  func state() throws -> String {
    let queries = [
      """
      SELECT id, owner_id, parent_id, name_hmac, file_key, signature, seq, height, deleted,
        content_version, content_bytes, 0 FROM sync.files ORDER BY id
      """,
      """
      SELECT file_id, account_id, owner_id, share_key, signature, author_key, seq, changed_ms,
        version, 0, 0, 0 FROM sync.shares ORDER BY file_id, account_id
      """,
      """
      SELECT id, id, id, id, id, id, seq, usage_bytes, record_count, invitation_day,
        invitation_count, 0 FROM sync.accounts ORDER BY id
      """,
      """
      SELECT account_id, owner_id, owner_id, owner_id, owner_id, owner_id, number, from_seq, 0, 0,
        0, 0 FROM sync.views ORDER BY account_id, owner_id
      """,
      """
      SELECT account_id, owner_id, file_id, file_id, file_id, file_id, seq, at_ms, 0, 0, 0, 0
      FROM sync.departures ORDER BY account_id, owner_id, seq
      """,
      """
      SELECT folder_id, owner_id, deleted_with, folder_id, folder_id, folder_id, since_ms, 0, 0, 0,
        0, 0 FROM sync.deletions ORDER BY folder_id
      """,
    ]
    let text = try database.read { reader in
      try queries.flatMap { query in
        try reader.rows(query) { row in
          var line = ""
          for column in 0..<6 { line += Hex.encode(try row.optionalBlob(column) ?? []) + " " }
          for column in 6..<12 { line += "\(try row.integer(column)) " }
          return line
        }
      }.joined(separator: "\n")
    }
    return Hex.encode(SHA256.hash(Array(text.utf8)))
  }

  /// Marks everything below deleted folders.
  func sweepDeletions() throws {
    for work in api.upkeep where work.isUrgent { while try work.slice() {} }
  }

  /// The items that failed, or those of one account, each with its queue and how often it failed.
  func failingItems(of account: Identifier? = nil) throws -> [String] {
    let items = try database.read { reader in
      try reader.rows(
        "SELECT queue, item, failure_count, account_id FROM sync.failing_items ORDER BY queue, item"
      ) { row in
        let text = "\(try row.text(0)) \(try row.id(1)): \(try row.integer(2))"
        return (text: text, account: try row.optionalID(3))
      }
    }
    return items.filter { account == nil || $0.account == account }.map(\.text)
  }

  /// Writes a wrong usage. If it is too small, deletions would make it negative, and fail.
  func setUsage(of account: Identifier, _ byteCount: Int64) throws {
    try change(
      "UPDATE sync.accounts SET usage_bytes = $2 WHERE id = $1", .id(account), .integer(byteCount))
  }
}
