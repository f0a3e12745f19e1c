import Base
import Storage
import Sync
import TestDevices

/// Compares the tables with the model and with each other.
struct Books {
  private struct Row: Equatable {
    let owner, parent: Identifier
    let type: String
    let target: Identifier?
    let name, hmac, key, author: [UInt8]?
    let isMarked: Bool
    let deletedWith: Identifier?
    let contentVersion, byteCount: Int64
  }

  let database: Database

  /// The files that are marked in the table but not yet in the model, because a sweep marked them.
  func marked(since model: TreeModel) throws -> [Identifier: Identifier?] {
    let rows = try database.read { reader in
      try reader.rows("SELECT id, deleted_with FROM sync.files WHERE deleted = 1") { row in
        (try row.id(0), try row.optionalID(1))
      }
    }
    return Dictionary(
      uniqueKeysWithValues: rows.filter { model.files[$0.0]?.isMarked == false })
  }

  /// The differences as text; only a few if there are many.
  func differences(from model: TreeModel) throws -> [String] {
    try files(model) + heights(model) + shares(model) + broken() + accounts(model) + audited()
  }

  /// The audit's findings in any account's tree, as an operator gets them.
  private func audited() throws -> [String] {
    let accounts = try database.read { reader in
      try reader.rows("SELECT id FROM sync.accounts ORDER BY id") { row in try row.id(0) }
    }
    return try accounts.flatMap { account in
      var audit = TreeAudit(account, objects: nil)
      var findings: [TreeFinding] = []
      while !audit.isRead { findings += try database.read { try audit.readSlice($0) } }
      return findings.map { "\($0.law.rawValue) of \($0.subject) in the tree of \(account)" }
    }
  }

  private func files(_ model: TreeModel) throws -> [String] {
    let rows = try database.read { reader in
      try reader.rows(
        """
        SELECT id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key,
          deleted, deleted_with, content_version, content_bytes
        FROM sync.files
        """
      ) { row in
        (
          try row.id(0),
          Row(
            owner: try row.id(1), parent: try row.id(2), type: try row.text(3),
            target: try row.optionalID(4), name: try row.optionalBlob(5),
            hmac: try row.optionalBlob(6), key: try row.optionalBlob(7),
            author: try row.optionalBlob(8), isMarked: try row.integer(9) == 1,
            deletedWith: try row.optionalID(10), contentVersion: try row.integer(11),
            byteCount: try row.integer(12))
        )
      }
    }
    let expected = model.files.mapValues { file in
      Row(
        owner: file.owner, parent: file.parent, type: file.type, target: file.target,
        name: file.name?.ciphertext, hmac: file.name?.hmac, key: file.key, author: file.author,
        isMarked: file.isMarked, deletedWith: file.deletedWith,
        contentVersion: file.contentVersion, byteCount: Int64(file.content.count))
    }
    return Self.differences("file", Dictionary(uniqueKeysWithValues: rows), expected)
  }

  /// A folder's height is never less than the number of levels below it.
  private func heights(_ model: TreeModel) throws -> [String] {
    let rows = try database.read { reader in
      try reader.rows("SELECT id, height FROM sync.files") { row in
        (try row.id(0), try row.integer(1))
      }
    }
    let heights = Dictionary(uniqueKeysWithValues: rows)
    return model.order.filter { !model.isDeleted($0) }.flatMap { id in
      model.chain(id).enumerated().compactMap { levels, above in
        heights[above] ?? 0 >= Int64(levels)
          ? nil : "\(above) has height \(heights[above] ?? 0), but \(levels) levels beneath it"
      }
    }
  }

  private func shares(_ model: TreeModel) throws -> [String] {
    let rows = try database.read { reader in
      try reader.rows("SELECT file_id, account_id, mode, state, share_key FROM sync.shares") {
        row in
        (
          TreeModel.ShareID(file: try row.id(0), account: try row.id(1)),
          TreeModel.Share(
            mode: try row.text(2), state: try row.text(3), key: try row.optionalBlob(4))
        )
      }
    }
    return Self.differences("share", Dictionary(uniqueKeysWithValues: rows), model.shares)
  }

  private static func differences<Key, Value: Equatable>(
    _ what: String, _ found: [Key: Value], _ expected: [Key: Value]
  ) -> [String] {
    let keys = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }
    return keys.prefix(3).map { key in
      "\(what) \(key): \(found[key].map { "\($0)" } ?? "none"), "
        + "not \(expected[key].map { "\($0)" } ?? "none")"
    }
  }

  /// Compares the totals with a recount of the rows and with the ledger's sum, by SQL and by the model.
  private func accounts(_ model: TreeModel) throws -> [String] {
    let rows = try database.read { reader in
      try reader.rows(
        """
        SELECT id, usage_bytes, record_count,
          (SELECT count(*) FROM sync.files WHERE owner_id = a.id AND deleted = 0),
          (SELECT CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM sync.files
            WHERE owner_id = a.id AND deleted = 0),
          (SELECT CAST(sum(delta_bytes) AS BIGINT) FROM sync.usage_entries WHERE owner_id = a.id)
        FROM sync.accounts AS a
        """
      ) { row in
        (
          try row.id(0),
          [
            try row.integer(1), try row.integer(2), try row.integer(3), try row.integer(4),
            try row.integer(5),
          ]
        )
      }
    }
    return rows.compactMap { account, found in
      let (usage, records) = (model.usage(of: account), model.recordCount(of: account))
      let content = usage - TreeModel.feeByteCount * records
      let expected = [usage, records, records, content, usage]
      return found == expected ? nil : "account \(account): \(found), not \(expected)"
    }
  }

  /// Rules between the tables that always hold.
  private func broken() throws -> [String] {
    try Self.laws.compactMap { law, query in
      let count = try database.read { reader in
        try reader.first(query) { row in try row.integer(0) }
      }
      return count == 0 ? nil : "\(law): broken \(count ?? -1) times"
    }
  }

  private static let laws: [(String, String)] = [
    (
      "no number is ahead of its owner's sequence",
      """
      SELECT count(*) FROM sync.files AS f JOIN sync.accounts AS a ON a.id = f.owner_id
      WHERE f.seq > a.seq
      """
    ),
    (
      "no share is ahead of its account's sequence",
      """
      SELECT count(*) FROM sync.shares AS s JOIN sync.accounts AS a ON a.id = s.account_id
      WHERE s.seq > a.seq
      """
    ),
    (
      "a parent is a folder of the same owner",
      """
      SELECT count(*) FROM sync.files AS f LEFT JOIN sync.files AS p
        ON p.id = f.parent_id AND p.kind = 'folder' AND p.owner_id = f.owner_id
      WHERE p.id IS NULL
      """
    ),
    (
      "what lies beneath a marked folder is marked, or its folder is queued",
      """
      SELECT count(*) FROM sync.files AS f JOIN sync.files AS p ON p.id = f.parent_id
      WHERE f.deleted = 0 AND p.deleted = 1
        AND NOT EXISTS (SELECT 1 FROM sync.deletions AS d WHERE d.folder_id = p.id)
      """
    ),
    (
      "an account has a view of a tree exactly while a share of it is accepted",
      """
      SELECT (SELECT count(*) FROM sync.views AS v WHERE NOT EXISTS (
          SELECT 1 FROM sync.shares AS s WHERE s.account_id = v.account_id
            AND s.owner_id = v.owner_id AND s.state = 'accepted'))
        + (SELECT count(*) FROM sync.shares AS s WHERE s.state = 'accepted' AND NOT EXISTS (
          SELECT 1 FROM sync.views AS v WHERE v.account_id = s.account_id
            AND v.owner_id = s.owner_id))
      """
    ),
    (
      "content is in one place, and where it should be",
      """
      SELECT count(*) FROM sync.files AS f
      LEFT JOIN sync.inline_contents AS i ON i.file_id = f.id
      WHERE (i.file_id IS NOT NULL)
        <> (f.content_version > 0 AND f.deleted = 0 AND f.object_id IS NULL)
        OR f.content_bytes <> coalesce(length(i.bytes), f.content_bytes)
        OR (f.object_id IS NULL) <> (f.content_bytes <= 16384)
      """
    ),
    (
      "no object in use is garbage or reserved",
      """
      SELECT count(*) FROM sync.files AS f WHERE f.object_id IN (
        SELECT object_id FROM sync.garbage UNION SELECT object_id FROM sync.reservations)
      """
    ),
  ]
}
