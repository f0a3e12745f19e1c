package import Base
package import Storage

/// What an account's usage consists of: by folder at the top of its tree, and by who wrote it last. One snapshot is
/// read, a slice of rows at a time.
package struct UsageExplanation: Sendable {
  /// What is charged.
  package struct Parts: Sendable, Equatable {
    package fileprivate(set) var liveByteCount: Int64 = 0
    package fileprivate(set) var historyByteCount: Int64 = 0
    package fileprivate(set) var trashByteCount: Int64 = 0
    /// Live records and records in the trash.
    package fileprivate(set) var recordCount: Int64 = 0

    package var byteCount: Int64 { liveByteCount + historyByteCount + trashByteCount }

    fileprivate static func += (sum: inout Parts, more: Parts) {
      sum.liveByteCount += more.liveByteCount
      sum.historyByteCount += more.historyByteCount
      sum.trashByteCount += more.trashByteCount
      sum.recordCount += more.recordCount
    }
  }

  /// The parts of one folder or account, or of several that are not listed by themselves.
  package struct Share: Sendable, Equatable {
    /// A folder at the top, or the root for what is in no folder; an account. Nil: others, or nobody who is known.
    package let id: Identifier?
    /// How many are in it, if they are others.
    package let otherCount: Int64
    package let parts: Parts
  }

  package let total: Parts
  /// What uploads under way have reserved. It is not charged, but a write must leave room for it.
  package let uploadByteCount: Int64
  /// What waits for its deletion from the store. It is not charged.
  package let collectableByteCount: Int64
  /// The largest first, at most `limit`, and then the others.
  package let folders: [Share]
  package let writers: [Share]

  private static let sliceRowCount: Int64 = 10_000

  package init(
    _ reader: Reader, _ account: Identifier, root: Identifier, fee: Int64, limit: Int,
    now: Instant
  ) throws {
    let walk = Walk(reader, account, fee)
    try walk.readFiles()
    try walk.readVersions()
    let writers = try walk.writers()
    (folders, self.writers) = (
      Self.shares(walk.folders(below: root), limit), Self.shares(writers, limit)
    )
    total = walk.byParent.values.reduce(into: Parts()) { $0 += $1 }
    uploadByteCount = try reader.number(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM sync.reservations
      WHERE owner_id = $1 AND expires_ms > $2
      """, .id(account), .instant(now))
    collectableByteCount = try reader.number(
      "SELECT kept_bytes FROM sync.accounts WHERE id = $1", .id(account))
  }

  private static func shares(_ parts: [Identifier?: Parts], _ limit: Int) -> [Share] {
    func order(_ id: Identifier?) -> String { id?.description ?? "" }
    let sorted = parts.sorted {
      ($1.value.byteCount, order($0.key)) < ($0.value.byteCount, order($1.key))
    }
    let shown = sorted.prefix(limit).map { Share(id: $0.key, otherCount: 0, parts: $0.value) }
    let others = sorted.dropFirst(limit)
    guard !others.isEmpty else { return shown }
    let sum = others.reduce(into: Parts()) { $0 += $1.value }
    return shown + [Share(id: nil, otherCount: Int64(others.count), parts: sum)]
  }

  /// The walk over an account's rows, in the order of its numbers.
  private final class Walk {
    let reader: Reader
    let account: Identifier
    let fee: Int64
    /// Folders, live or deleted, with their parents.
    private(set) var parents: [Identifier: Identifier] = [:]
    private(set) var byParent: [Identifier: Parts] = [:]
    private var byKey: [[UInt8]: Parts] = [:]

    init(_ reader: Reader, _ account: Identifier, _ fee: Int64) {
      self.reader = reader
      self.account = account
      self.fee = fee
    }

    private func add(_ parts: Parts, in parent: Identifier, by key: [UInt8]?) {
      byParent[parent, default: Parts()] += parts
      byKey[key ?? [], default: Parts()] += parts
    }

    func readFiles() throws {
      try readSlices(
        """
        SELECT seq, id, parent_id, kind, deleted, trash_id, content_bytes, content_author, author_key
        FROM sync.files WHERE owner_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
        """
      ) { [self] row in
        let (id, parent) = (try row.id(1), try row.id(2))
        if try row.text(3) == FileRecord.Kind.folder.rawValue { parents[id] = parent }
        let isLive = try row.integer(4) == 0
        guard try isLive || row.optionalID(5) != nil else { return }
        let byteCount = fee + (try row.integer(6))
        var parts = Parts()
        parts.liveByteCount = isLive ? byteCount : 0
        parts.trashByteCount = isLive ? 0 : byteCount
        parts.recordCount = 1
        add(parts, in: parent, by: try row.optionalBlob(7) ?? row.optionalBlob(8))
      }
    }

    func readVersions() throws {
      try readSlices(
        """
        SELECT v.seq, f.parent_id, v.content_bytes, v.author_key
        FROM sync.versions AS v JOIN sync.files AS f ON f.id = v.file_id
        WHERE v.owner_id = $1 AND v.seq > $2 ORDER BY v.seq LIMIT $3
        """
      ) { [self] row in
        var parts = Parts()
        parts.historyByteCount = try row.integer(2)
        add(parts, in: try row.id(1), by: try row.optionalBlob(3))
      }
    }

    private func readSlices(
      _ sql: String, _ read: (borrowing Row) throws -> Void
    ) throws {
      var (last, rowCount) = (Int64(-1), UsageExplanation.sliceRowCount)
      while rowCount == UsageExplanation.sliceRowCount {
        rowCount = 0
        try reader.query(
          sql, [.id(account), .integer(last), .integer(UsageExplanation.sliceRowCount)]
        ) { row in
          last = try row.integer(0)
          rowCount += 1
          try read(row)
          return true
        }
      }
    }

    /// The parts by folder at the top. What is in the root itself, or in no folder that is known, is in the root.
    func folders(below root: Identifier) -> [Identifier?: Parts] {
      var (tops, sums): ([Identifier: Identifier], [Identifier?: Parts]) = ([:], [:])
      for (parent, parts) in byParent {
        var (way, folder) = ([Identifier](), parent)
        while tops[folder] == nil, let above = parents[folder], folder != root, above != root,
          way.count <= AncestorTree.depthMax
        {
          way.append(folder)
          folder = above
        }
        let top = tops[folder] ?? (parents[folder] == nil ? root : folder)
        for passed in way + [folder] { tops[passed] = top }
        sums[top, default: Parts()] += parts
      }
      return sums
    }

    /// The parts by account; nil for keys of accounts that are gone, and for what came from another Coffer.
    func writers() throws -> [Identifier?: Parts] {
      let keys = byKey.keys.filter { !$0.isEmpty }.map { SQLValue.blob($0) }
      let found = try reader.rows(in: keys) { list in
        "SELECT public_key, account_id FROM sync.device_keys WHERE public_key IN (\(list))"
      } row: { row in
        (try row.blob(0), try row.id(1))
      }
      let accounts = Dictionary(uniqueKeysWithValues: found)
      var sums: [Identifier?: Parts] = [:]
      for (key, parts) in byKey { sums[accounts[key], default: Parts()] += parts }
      return sums
    }
  }
}
