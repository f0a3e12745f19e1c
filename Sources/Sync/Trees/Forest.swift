internal import Base
internal import Storage

/// What an account may do with a file.
enum Role: Int, Comparable, Sendable {
  case stranger
  /// A share of exactly this record waits for an answer.
  case invited
  case reader, writer, owner

  static func < (a: Role, b: Role) -> Bool { a.rawValue < b.rawValue }
}

/// The files a request is about and all above them, as one account sees them.
///
/// Only chains of parents are read, never what lies beside or beneath, so it costs the depth of a
/// file and not the size of its tree.
struct Forest {
  /// One record, without what only its readers need.
  struct Node: Sendable {
    let id: Identifier
    let owner: Identifier
    var parent: Identifier
    let kind: FileRecord.Kind
    let target: Identifier?
    /// Nil for a root.
    var hmac: [UInt8]?
    var isDeleted: Bool
    /// The folder whose deletion took this one along.
    var deletedWith: Identifier?
    /// Not less than the levels beneath; it never shrinks.
    var height: Int64
    /// What the account's own share of exactly this record gives.
    let share: (mode: Share.Mode, state: Share.State)?
    /// Whether anybody has been let in to exactly this record, or invited.
    let hasLiveShares: Bool

    var isRoot: Bool { parent == id }
  }

  /// Levels beneath a root.
  static let depthMax = 128
  /// Levels that are read at first: usually something among them is known.
  private static let levelCountFirst = 4

  let account: Identifier
  private var nodes: [Identifier: Node] = [:]

  init(seenBy account: Identifier) { self.account = account }

  subscript(_ id: Identifier) -> Node? { nodes[id] }

  /// Reads a file with all above it, unless they are known: few levels at first, then more, so that
  /// no more than a few known ones are read again.
  mutating func load(_ id: Identifier, _ queryable: some Queryable) throws {
    var next = id
    var (levelCount, loadedCount) = (Self.levelCountFirst, 0)
    while nodes[next] == nil, loadedCount <= Self.depthMax {
      guard let top = try load(next, levels: levelCount, queryable) else { return }
      next = top.parent
      loadedCount += levelCount
      levelCount *= 4
    }
  }

  /// Reads a file and so many levels in all, up to what is known; answers the uppermost one.
  private mutating func load(
    _ id: Identifier, levels: Int, _ queryable: some Queryable
  ) throws -> Node? {
    var top: Node?
    try queryable.query(
      """
      WITH RECURSIVE chain
        (id, owner_id, parent_id, kind, target_id, name_hmac, deleted, deleted_with, height, level)
      AS (
        SELECT id, owner_id, parent_id, kind, target_id, name_hmac, deleted, deleted_with, height,
          0
        FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id, f.owner_id, f.parent_id, f.kind, f.target_id, f.name_hmac, f.deleted,
          f.deleted_with, f.height, c.level + 1
        FROM chain AS c JOIN sync.files AS f ON f.id = c.parent_id
        WHERE c.parent_id <> c.id AND c.level < $3)
      SELECT c.id, c.owner_id, c.parent_id, c.kind, c.target_id, c.name_hmac, c.deleted,
        c.deleted_with, c.height, s.mode, s.state,
        CASE WHEN EXISTS (
          SELECT 1 FROM sync.shares AS l
          WHERE l.file_id = c.id AND l.state IN ('pending', 'accepted')) THEN 1 ELSE 0 END
      FROM chain AS c LEFT JOIN sync.shares AS s ON s.file_id = c.id AND s.account_id = $2
      ORDER BY c.level
      """,
      [.id(id), .id(account), .integer(Int64(levels - 1))]
    ) { row in
      let node = try Node(row: row)
      top = node
      // Above a known file everything is known.
      return nodes.updateValue(node, forKey: node.id) == nil
    }
    return top
  }

  /// The file, if it exists and the account may see it.
  mutating func file(_ id: Identifier, _ queryable: some Queryable) throws -> FileRecord {
    try load(id, queryable)
    // Somebody else's file answers as a missing one does, so that ids cannot be probed.
    guard role(id) > .stranger, let file = try FileRecord.find(queryable, id) else {
      throw Refusal.fileNotFound
    }
    return marked(file)
  }

  /// The file as deleted, where a folder above it is, whether or not that was written to its row yet.
  func marked(_ file: FileRecord) -> FileRecord {
    guard !file.isDeleted, let folder = chain(file.id).first(where: \.isDeleted) else {
      return file
    }
    var file = file
    file.isDeleted = true
    file.deletedWith = folder.deletedWith ?? folder.id
    return file
  }

  mutating func raise(_ id: Identifier, to height: Int64) { nodes[id]?.height = height }

  /// The file and all above it, nearest first.
  func chain(_ id: Identifier) -> [Node] {
    var chain: [Node] = []
    var next = nodes[id]
    while let node = next, chain.count <= Self.depthMax {
      chain.append(node)
      next = node.isRoot ? nil : nodes[node.parent]
    }
    return chain
  }

  /// Whether the file or a folder above it is deleted.
  func isDeleted(_ id: Identifier) -> Bool { chain(id).contains(where: \.isDeleted) }

  /// What the account may do with the file: the best of what its shares on the way up give.
  func role(_ id: Identifier) -> Role {
    guard let node = nodes[id] else { return .stranger }
    guard node.owner != account else { return .owner }
    let accepted = chain(id).compactMap { $0.share }.filter { $0.state == .accepted }
    if accepted.contains(where: { $0.mode == .write }) { return .writer }
    if !accepted.isEmpty { return .reader }
    return node.share?.state == .pending ? .invited : .stranger
  }
}

extension Forest.Node {
  fileprivate init(row: borrowing Row) throws {
    id = try row.id(0)
    owner = try row.id(1)
    parent = try row.id(2)
    guard let kind = FileRecord.Kind(rawValue: try row.text(3)) else {
      throw DatabaseError.statement("a file is of no known type")
    }
    self.kind = kind
    target = try row.optionalID(4)
    hmac = try row.optionalBlob(5)
    isDeleted = try row.integer(6) == 1
    deletedWith = try row.optionalID(7)
    height = try row.integer(8)
    if let mode = try row.optionalText(9).flatMap(Share.Mode.init(rawValue:)),
      let state = try row.optionalText(10).flatMap(Share.State.init(rawValue:))
    {
      share = (mode, state)
    } else {
      share = nil
    }
    hasLiveShares = try row.integer(11) == 1
  }
}
