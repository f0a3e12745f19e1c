internal import Base
internal import Storage

/// Where links may lie, and to what.
extension Judge {
  /// What is wrong with a link's place, or with links getting into a folder that others see.
  mutating func links(
    _ statement: FileStatement, beneath chain: [Forest.Node]
  ) throws -> Rule? {
    let standing = forest[statement.id]
    switch statement.kind {
    case .document: return nil
    case .folder:
      guard let standing, standing.parent != statement.parent, try isShared(chain) else {
        return nil
      }
      return try hasLinks(beneath: standing) ? .linkInSharedFolder : nil
    case .link:
      guard let target = statement.target else { return .linkTargetNotFound }
      guard statement.owner == caller else { return .linkNotOwnTree }
      if standing == nil, let rule = try newLink(to: target) { return rule }
      return try isShared(chain) ? .linkInSharedFolder : nil
    }
  }

  private func newLink(to target: Identifier) throws -> Rule? {
    guard let node = forest[target] else { return .linkTargetNotFound }
    guard node.owner != caller else { return .linkTargetOwned }
    guard let share = node.share, share.state.isLive, !forest.isDeleted(target) else {
      return .linkTargetNotFound
    }
    let standing = try FileRecord.liveLink(transaction, of: caller, to: target)
    let isReplaced = standing.flatMap { planned[$0]?.isDeleted } ?? (standing == nil)
    guard isReplaced, newLinks[target] == 1 else { return .linkExists }
    let kept = try liveLinks(of: caller).filter { planned[$0]?.isDeleted != true }
    if kept.count + newLinks.count > Self.linkCountMax { return .tooManyLinks }
    return try seesTooMany() ? .tooManyOwners : nil
  }

  private func seesTooMany() throws -> Bool {
    let seen = try transaction.rows(
      "SELECT owner_id FROM sync.views WHERE account_id = $1", .id(caller)
    ) { row in try row.id(0) }
    let added = newLinks.keys.compactMap { forest[$0]?.owner }
    return Set(seen + added).count > Self.viewCountMax
  }

  private func liveLinks(of owner: Identifier) throws -> [Identifier] {
    try transaction.rows(
      """
      SELECT id FROM sync.files WHERE owner_id = $1 AND target_id IS NOT NULL AND deleted = 0
      """, .id(owner)
    ) { row in try row.id(0) }
  }

  /// Whether links of the owner lie beneath a folder; by going up from each, for there are few.
  mutating func hasLinks(beneath folder: Forest.Node) throws -> Bool {
    for link in try liveLinks(of: folder.owner) {
      try forest.load(link, transaction)
      let chain = finalChain(link)
      if chain.contains(where: { $0.id == folder.id }), !chain.contains(where: \.isDeleted) {
        return true
      }
    }
    return false
  }

  /// Whether anybody but the owner has been let in to one of the folders, by this batch or before.
  private mutating func isShared(_ chain: [Forest.Node]) throws -> Bool {
    for node in chain {
      if let known = sharedFiles[node.id] {
        if known { return true }
        continue
      }
      let isShared = try isShared(node.id)
      sharedFiles[node.id] = isShared
      if isShared { return true }
    }
    return false
  }

  /// Whether the batch leaves a live share of the file.
  private func isShared(_ file: Identifier) throws -> Bool {
    var ended: Set<Identifier> = []
    for change in batch.shares where change.statement.file == file {
      if change.statement.isGrant { return true }
      ended.insert(change.statement.account)
    }
    return try !ended.isSuperset(of: liveShares(file))
  }

  /// Who has been let in to a file, or invited.
  func liveShares(_ file: Identifier) throws -> [Identifier] {
    try transaction.rows(
      """
      SELECT account_id FROM sync.shares
      WHERE file_id = $1 AND state IN ('pending', 'accepted')
      """, .id(file)
    ) { row in try row.id(0) }
  }
}
