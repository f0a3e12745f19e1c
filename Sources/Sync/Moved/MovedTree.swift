package import Accounts
package import Base
package import Storage
package import Tiers

/// Checks that arriving records and contents are ones that a server can write: `TreeFinding.Law.ofArchives`.
package struct MovedTree: Sendable {
  private let account: MovedAccount
  private var nodes: [Identifier: Node] = [:]
  /// Documents whose content has not arrived yet.
  private var contents: [Identifier: Int64] = [:]
  private var numbers: Set<Int64> = []
  /// The names of live files, which none of their siblings may have.
  private var names: Set<BatchSnapshot.Place> = []
  package private(set) var recordCount: Int64 = 0
  /// Records signed by keys of other accounts.
  package private(set) var foreignCount = 0
  /// When the last of the deleted records was deleted; nil without one.
  package private(set) var latest: Instant?

  private struct Node {
    let parent: Identifier
    let isFolder: Bool
    let isDeleted: Bool
    let height: Int64
  }

  package init(of account: MovedAccount) { self.account = account }

  /// All records are written in one transaction, for which others wait.
  private static let fileCountMax = 1_000_000

  package mutating func add(_ file: MovedFile) throws(MovingError) {
    let record = file.record
    guard nodes.count < Self.fileCountMax else {
      throw MovingError("it has more than \(Self.fileCountMax) records")
    }
    guard nodes[file.id] == nil else { throw MovingError("the file \(file.id) comes twice") }
    guard file.sequence <= account.sequence, numbers.insert(file.sequence).inserted else {
      throw MovingError(.number, file.id)
    }
    guard record.isRoot == (file.id == account.root) else { throw MovingError(.root, file.id) }
    nodes[file.id] = Node(
      parent: record.parent, isFolder: record.kind == .folder, isDeleted: record.isDeleted,
      height: file.height)
    if let author = record.author, !account.devices.contains(where: { $0.publicKey == author.key })
    {
      foreignCount += 1
    }
    if let deleted = file.deleted { latest = max(latest ?? deleted, deleted) }
    guard !record.isDeleted else { return }
    recordCount += 1
    if let name = record.name,
      !names.insert(.init(parent: record.parent, hmac: name.hmac)).inserted
    {
      throw MovingError(.name, file.id)
    }
    if let byteCount = file.contentByteCount { contents[file.id] = byteCount }
  }

  /// Accepts the content of a document that was added and has none yet.
  package mutating func addContent(
    of file: Identifier, byteCount: Int64
  ) throws(MovingError) {
    guard let wanted = contents.removeValue(forKey: file) else {
      throw MovingError("the content of \(file) is of no document that comes")
    }
    guard wanted == byteCount else {
      throw MovingError("the content of \(file) has \(byteCount) bytes, its record says \(wanted)")
    }
  }

  /// Throws unless everything fits together.
  package func requireWhole() throws(MovingError) {
    if let missing = contents.keys.min() {
      throw MovingError("the content of \(missing) is missing")
    }
    guard nodes[account.root] != nil else { throw MovingError(.root, account.root) }
    var known: Set<Identifier> = []
    for (id, node) in nodes where id != account.root {
      if node.isDeleted { try requireWay(ofDeleted: id, &known) } else { try requireWay(id) }
    }
  }

  /// Checks the way from a live file to the root. An archive has no deletion under way, so no folder on it is
  /// deleted.
  private func requireWay(_ start: Identifier) throws(MovingError) {
    var (id, levels) = (start, Int64(0))
    while levels <= Int64(AncestorTree.depthMax) {
      guard let node = nodes[id], levels == 0 || node.isFolder else {
        throw MovingError(.parent, start)
      }
      guard node.height >= levels else {
        throw MovingError(isInCircle(start) ? .cycle : .height, start)
      }
      if id == account.root { return }
      if nodes[node.parent]?.isDeleted == true { throw MovingError(.mark, id) }
      (id, levels) = (node.parent, levels + 1)
    }
    throw MovingError(isInCircle(start) ? .cycle : .depth, start)
  }

  /// Checks the way from a deleted file to a live folder, or to a forgotten one. It may have any number of levels,
  /// because what is deleted counts for none. What is in `known` was on such a way.
  private func requireWay(
    ofDeleted start: Identifier, _ known: inout Set<Identifier>
  ) throws(MovingError) {
    var (id, way) = (start, Set<Identifier>())
    while let node = nodes[id], node.isDeleted, id != account.root, !known.contains(id) {
      guard way.insert(id).inserted else { throw MovingError(.cycle, start) }
      id = node.parent
      guard nodes[id]?.isFolder != false else { throw MovingError(.parent, start) }
    }
    known.formUnion(way)
  }

  /// Throws if a deleted file would come into a folder of another account, whose sharees would see it: one of the
  /// archive into a folder that its server had forgotten, or one that is here into a folder that this server has
  /// forgotten. It also throws if an erased account's shares of a file that arrives are left here. Links of others may
  /// be left.
  package func requireForgotten(in queryable: some Queryable) throws {
    let lost = nodes.filter { nodes[$0.value.parent] == nil }
    let parents = Dictionary(lost.map { ($0.value.parent, $0.key) }) { first, _ in first }
    let here = try queryable.rows(in: parents.keys.map { .id($0) }) { list in
      "SELECT id FROM sync.files WHERE id IN (\(list))"
    } row: { row in
      try row.id(0)
    }
    if let file = here.first.flatMap({ parents[$0] }) { throw MovingError(.parent, file) }
    let named = try queryable.rows(in: nodes.keys.map { .id($0) }) { list in
      """
      SELECT parent_id FROM sync.files WHERE deleted = 1 AND parent_id IN (\(list))
      UNION SELECT file_id FROM sync.shares WHERE file_id IN (\(list))
      """
    } row: { row in
      try row.id(0)
    }
    if let file = named.first {
      throw MovingError("the file \(file) is one that rows of another account here still name")
    }
  }

  private func isInCircle(_ start: Identifier) -> Bool {
    var (seen, id) = (Set<Identifier>(), start)
    while let node = nodes[id], id != account.root {
      guard seen.insert(id).inserted else { return true }
      id = node.parent
    }
    return false
  }

  /// Charges the account for the rows written, others' included, in one entry. The archive's claim is ignored.
  package func charge(
    _ catalogue: Catalogue, beside others: UsageWeight, at now: Instant,
    in transaction: Transaction
  ) throws {
    let weight = try transaction.first(
      """
      SELECT count(*), CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM sync.files
      WHERE owner_id = $1 AND deleted = 0
      """, .id(account.id)
    ) { row in (recordCount: try row.integer(0), contentByteCount: try row.integer(1)) }
    let recordCount = (weight?.recordCount ?? 0) + others.recordCount
    let byteCount =
      (weight?.contentByteCount ?? 0) + others.contentByteCount + recordCount
      * catalogue.metadataFeeByteCount
    try transaction.execute(
      "UPDATE sync.accounts SET usage_bytes = $2, record_count = $3 WHERE id = $1",
      .id(account.id), .integer(byteCount), .integer(recordCount))
    try UsageEntry(
      number: account.sequence, deltaByteCount: byteCount, reason: UsageReason.arrived.rawValue,
      file: account.root, at: now
    ).append(transaction, of: account.id)
  }
}

extension MovedAccount {
  /// The data that stays behind because it involves other accounts, and the operations that must end first.
  package static func leftBehind(
    _ reader: Reader, _ account: Identifier
  ) throws -> (shares: Int64, links: Int64, isDeleting: Bool) {
    try reader.first(
      """
      SELECT (SELECT count(*) FROM sync.shares WHERE owner_id = $1 AND state IN ('pending', 'accepted'))
          + (SELECT count(*) FROM sync.log_shares WHERE owner_id = $1),
        (SELECT count(*) FROM sync.files
          WHERE owner_id = $1 AND deleted = 0 AND target_id IS NOT NULL),
        (SELECT count(*) FROM sync.deletions WHERE owner_id = $1)
      """, .id(account)
    ) { row in (try row.integer(0), try row.integer(1), try row.integer(2) > 0) } ?? (0, 0, false)
  }
}
