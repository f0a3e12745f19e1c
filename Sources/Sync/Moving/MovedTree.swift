package import Base
package import Storage
package import Tiers

/// Whether the records and contents that arrive make a tree, and what they weigh.
package struct MovedTree: Sendable {
  private let account: MovedAccount
  private var nodes: [Identifier: Node] = [:]
  /// Of documents whose content has not come yet.
  private var contents: [Identifier: Int64] = [:]
  private var contentByteCount: Int64 = 0
  package private(set) var recordCount: Int64 = 0
  /// Signed by keys that are not the account's own.
  package private(set) var foreignCount = 0

  private struct Node {
    let parent: Identifier
    let isFolder: Bool
    let isDeleted: Bool
    let height: Int64
  }

  package init(of account: MovedAccount) { self.account = account }

  /// They are written in one transaction, which others wait for.
  private static let fileCountMax = 1_000_000

  package mutating func add(_ file: MovedFile) throws(MovingError) {
    let record = file.record
    guard nodes.count < Self.fileCountMax else {
      throw MovingError("it has more than \(Self.fileCountMax) records")
    }
    guard nodes[file.id] == nil else { throw MovingError("the file \(file.id) comes twice") }
    guard file.sequence <= account.sequence else {
      throw MovingError("the file \(file.id) has a version that its account never had")
    }
    nodes[file.id] = Node(
      parent: record.parent, isFolder: record.kind == .folder, isDeleted: record.isDeleted,
      height: file.height)
    if let author = record.author, !account.devices.contains(where: { $0.publicKey == author.key })
    {
      foreignCount += 1
    }
    guard !record.isDeleted else { return }
    recordCount += 1
    if let byteCount = file.contentByteCount {
      contents[file.id] = byteCount
      contentByteCount += byteCount
    }
  }

  /// The content of a document that was added, and of which none came before.
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

  /// Throws unless all of it hangs together.
  package func requireWhole() throws(MovingError) {
    if let missing = contents.keys.min() {
      throw MovingError("the content of \(missing) is missing")
    }
    guard let root = nodes[account.root], root.parent == account.root, root.isFolder else {
      throw MovingError("the root of the account is missing")
    }
    for id in nodes.keys where id != account.root { try requireWay(id) }
  }

  /// From a file to the root, by folders as high as what is beneath them; past what is deleted, nobody
  /// looks at heights.
  private func requireWay(_ start: Identifier) throws(MovingError) {
    var (id, levels) = (start, Int64(0))
    var isDeleted = false
    while let node = nodes[id], levels <= Int64(AncestorTree.depthMax) {
      isDeleted = isDeleted || node.isDeleted
      if levels > 0, !node.isFolder || (!isDeleted && node.height < levels) { break }
      if id == account.root { return }
      if node.parent == id { break }
      (id, levels) = (node.parent, levels + 1)
    }
    throw MovingError("the file \(start) has no place in the tree")
  }

  /// What the account is charged for it here, as one entry of its usage ledger.
  package func charge(
    _ catalogue: Catalogue, at now: Instant, in transaction: Transaction
  ) throws {
    let byteCount = contentByteCount + recordCount * catalogue.metadataFeeByteCount
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
  /// What stays behind, since it is about other accounts as well; and what must be over first.
  package static func leftBehind(
    _ reader: Reader, _ account: Identifier
  ) throws -> (shares: Int64, links: Int64, isDeleting: Bool) {
    let row = try reader.first(
      """
      SELECT (SELECT count(*) FROM sync.shares WHERE owner_id = $1 AND state IN ('pending', 'accepted')),
        (SELECT count(*) FROM sync.files
          WHERE owner_id = $1 AND deleted = 0 AND target_id IS NOT NULL),
        (SELECT count(*) FROM sync.deletions WHERE owner_id = $1)
      """, .id(account)
    ) { row in (try row.integer(0), try row.integer(1), try row.integer(2)) }
    guard let row else { return (0, 0, false) }
    return (row.0, row.1, row.2 > 0)
  }
}
