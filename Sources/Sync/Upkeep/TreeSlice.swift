import Base
import Crypto
import Objects
import Storage

/// Some files of one account in one snapshot, with everything that the rules of trees need.
struct TreeSlice {
  private let reader: Reader
  private let files: [FileRecord]
  private let owner: TreeAudit.Owner
  private let objects: (any ObjectStore)?
  private let tree: AncestorTree

  init(
    _ reader: Reader, _ files: [FileRecord], of owner: TreeAudit.Owner,
    _ objects: (any ObjectStore)?
  ) throws {
    self.reader = reader
    self.files = files
    self.owner = owner
    self.objects = objects
    var tree = AncestorTree(seenBy: owner.account)
    try tree.load(files.map(\.id), reader)
    self.tree = tree
  }

  func findings() throws -> [TreeFinding] {
    let places = files.flatMap { file in place(of: file).map { TreeFinding($0, file.id) } }
    return try places + names() + marks() + contents() + signatures() + shares()
  }

  // MARK: Places

  private func place(of file: FileRecord) -> [TreeFinding.Law] {
    var rules: [TreeFinding.Law] = []
    if file.sequence > owner.sequence { rules.append(.number) }
    if !file.isMarkRight { rules.append(.deletion) }
    if file.isRoot != (file.id == owner.root) { return rules + [.root] }
    let chain = tree.chain(file.id)
    guard let top = chain.last else { return rules + [.parent] }
    let isDeleted = chain.contains(where: \.isDeleted)
    // A folder may be forgotten before what was deleted in it: that was marked later, or the trash keeps it longer.
    let isInForgotten = top.isDeleted && tree[top.parent] == nil
    guard top.isRoot || isInForgotten else {
      // What is deleted counts for no level, so a folder above it may have moved deeper since.
      let isWay = Set(chain.map(\.id)).count > AncestorTree.depthMax
      if isDeleted, isWay { return rules }
      return rules + [tree[top.parent] == nil ? .parent : way(file)]
    }
    if chain.dropFirst().contains(where: { $0.kind != .folder || $0.owner != file.owner }) {
      rules.append(.parent)
    }
    guard !isDeleted else { return rules }
    if chain.enumerated().contains(where: { $0.element.height < Int64($0.offset) }) {
      rules.append(.height)
    }
    if file.kind == .link, chain.dropFirst().contains(where: \.hasLiveShares) {
      rules.append(.link)
    }
    return rules
  }

  /// Whether a path that is too long runs in a circle.
  private func way(_ file: FileRecord) -> TreeFinding.Law {
    var seen: Set<Identifier> = []
    var next: Identifier? = file.id
    while let id = next, let node = tree[id], !node.isRoot {
      guard seen.insert(id).inserted else { return .cycle }
      next = node.parent
    }
    return .depth
  }

  /// The values for which a statement returns a row, queried in slices; `query` contains `parameters`.
  private func found(
    among ids: [Identifier], _ query: (String) -> String
  ) throws -> Set<Identifier> {
    Set(try reader.rows(in: ids.map { .id($0) }, sql: query) { row in try row.id(0) })
  }

  private func names() throws -> [TreeFinding] {
    try found(among: files.filter { !$0.isDeleted && !$0.isRoot }.map(\.id)) { list in
      """
      SELECT a.id FROM sync.files AS a JOIN sync.files AS b
        ON b.parent_id = a.parent_id AND b.name_hmac = a.name_hmac AND b.deleted = 0
          AND b.id <> a.id
      WHERE a.deleted = 0 AND a.id IN (\(list))
      """
    }.sorted().map { TreeFinding(.name, $0) }
  }

  private func marks() throws -> [TreeFinding] {
    let doubtful = files.filter { !$0.isDeleted && tree[$0.parent]?.isDeleted == true }
    let queued = try found(among: doubtful.map(\.parent)) { list in
      "SELECT folder_id FROM sync.deletions WHERE folder_id IN (\(list))"
    }
    return doubtful.filter { !queued.contains($0.parent) }.map { TreeFinding(.mark, $0.id) }
  }

  // MARK: Contents

  private func contents() throws -> [TreeFinding] {
    let kept = try found(among: files.filter(\.isDeleted).map(\.id)) { list in
      "SELECT id FROM sync.files WHERE trash_id IS NOT NULL AND id IN (\(list))"
    }
    // The trash keeps contents of deleted records.
    let documents = files.filter { $0.kind == .document && !kept.contains($0.id) }
    let lengths = try reader.rows(in: documents.map { .id($0.id) }) { list in
      """
      SELECT file_id, CAST(length(bytes) AS BIGINT) FROM sync.inline_contents
      WHERE file_id IN (\(list))
      """
    } row: { row in
      (try row.id(0), try row.integer(1))
    }
    let inline = Dictionary(uniqueKeysWithValues: lengths)
    let used = documents.compactMap(\.objectID)
    // Objects that are in use twice, or are not in use as another row says.
    let garbage = try found(among: used) { list in
      "SELECT object_id FROM sync.garbage WHERE object_id IN (\(list))"
    }.union(
      try found(among: used) { list in
        "SELECT object_id FROM sync.reservations WHERE object_id IN (\(list))"
      }
    ).union(
      try found(among: documents.map(\.id)) { list in
        """
        SELECT f.object_id FROM sync.files AS f JOIN sync.versions AS v
          ON v.file_id = f.id AND v.object_id = f.object_id WHERE f.id IN (\(list))
        """
      })
    // A folder or a link with content is charged like a document.
    let heavy = files.filter { $0.kind != .document && !$0.isWeightRight }
      .map { TreeFinding(.content, $0.id) }
    return try heavy
      + documents.flatMap { file -> [TreeFinding] in
        var findings: [TreeFinding] = []
        if !isContentRight(file, inline[file.id]) {
          findings.append(TreeFinding(.content, file.id))
        }
        if let object = file.objectID,
          try garbage.contains(object)
            || objects.map({ try $0.open(object)?.byteCount != file.contentByteCount }) ?? false
        {
          findings.append(TreeFinding(.object, file.id))
        }
        return findings
      }
  }

  private func isContentRight(_ file: FileRecord, _ inlineByteCount: Int64?) -> Bool {
    guard file.hasContent else {
      return inlineByteCount == nil && file.objectID == nil && file.isWeightRight
    }
    let isSmall = file.contentByteCount <= Int64(Contents.inlineByteCountMax)
    return file.objectID == nil
      ? isSmall && inlineByteCount == file.contentByteCount : !isSmall && inlineByteCount == nil
  }

  // MARK: Statements

  private func signatures() throws -> [TreeFinding] {
    var keys: [[UInt8]: Ed25519PublicKey] = [:]
    let authors = Set(files.compactMap(\.author?.key))
    let known = try reader.rows(in: authors.map { .blob($0) }) { list in
      "SELECT public_key FROM sync.device_keys WHERE public_key IN (\(list))"
    } row: { row in
      try row.blob(0)
    }
    for key in known { keys[key] = Ed25519PublicKey(bytes: key) }
    // The keys of erased accounts went with them, so no one can say whose they were.
    if keys.count < authors.count, try hasErasedAccounts() {
      for key in authors where keys[key] == nil { keys[key] = Ed25519PublicKey(bytes: key) }
    }
    return files.filter { !$0.isRoot && !$0.isSigned(by: $0.author.flatMap { keys[$0.key] }) }
      .map { TreeFinding(.signature, $0.id) }
  }

  private func hasErasedAccounts() throws -> Bool {
    try reader.hasRow(
      "SELECT 1 FROM sync.account_deletions WHERE begun_ms IS NOT NULL LIMIT 1")
  }

  /// Checks that the owners or sharees signed for everyone who sees the files.
  private func shares() throws -> [TreeFinding] {
    var findings: [TreeFinding] = []
    let shares = try reader.rows(in: files.map { .id($0.id) }) { list in
      "SELECT \(Share.columns) FROM sync.shares WHERE file_id IN (\(list))"
    } row: { row in
      try Share(row: row)
    }
    for share in shares {
      if share.owner != owner.account { findings.append(TreeFinding(.shareOwner, share.file)) }
      if try !isSigned(share) && !isEndedByErasure(share) {
        findings.append(TreeFinding(.signature, share.file))
      }
    }
    return findings
  }

  /// A share ends with its sharee, for whom no one signs any more.
  private func isEndedByErasure(_ share: Share) throws -> Bool {
    try share.state == .rejected && TreeAudit.Erasure.of(share.account, reader) != .none
  }

  private func isSigned(_ share: Share) -> Bool {
    let action: Share.Statement.Action
    switch share.state {
    case .pending, .accepted:
      guard let key = share.key else { return false }
      action = .grant(mode: share.mode, key: key)
    case .revoked: action = .revoke
    case .rejected: action = .reject
    }
    let statement = Share.Statement(file: share.file, account: share.account, action: action)
    return Ed25519PublicKey(bytes: share.author.key)?
      .isValid(signature: share.author.signature, for: statement.signed) ?? false
  }
}
