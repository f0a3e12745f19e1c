internal import Base
internal import Storage

/// Where links may lie, and to what.
extension Judge {
  /// What is wrong with a link's place, or with links getting into a folder that others see.
  mutating func links(
    _ statement: FileStatement, beneath chain: [Forest.Node]
  ) throws -> Rule? {
    let standing = tree.forest[statement.id]
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

  private mutating func newLink(to target: Identifier) throws -> Rule? {
    guard let node = tree.forest[target] else { return .linkTargetNotFound }
    guard node.owner != caller else { return .linkTargetOwned }
    guard let share = node.share, share.state.isLive, !tree.forest.isDeleted(target) else {
      return .linkTargetNotFound
    }
    let standing = try FileRecord.liveLink(source, of: caller, to: target)
    let isReplaced = standing.flatMap { tree.planned[$0]?.isDeleted } ?? (standing == nil)
    guard isReplaced, newLinks[target] == 1 else { return .linkExists }
    let kept = try liveLinks(of: caller).filter { tree.planned[$0]?.isDeleted != true }
    if kept.count + newLinks.count > Self.linkCountMax { return .tooManyLinks }
    return try seesTooMany() ? .tooManyOwners : nil
  }

  private mutating func seesTooMany() throws -> Bool {
    let seen =
      try known.seenOwners
      ?? Set(
        source.rows("SELECT owner_id FROM sync.views WHERE account_id = $1", .id(caller)) { row in
          try row.id(0)
        })
    known.seenOwners = seen
    return seen.union(newLinks.keys.compactMap { tree.forest[$0]?.owner }).count > Self.viewCountMax
  }

  private mutating func liveLinks(of owner: Identifier) throws -> [Identifier] {
    if let links = known.liveLinks[owner] { return links }
    let links = try source.rows(
      """
      SELECT id FROM sync.files WHERE owner_id = $1 AND target_id IS NOT NULL AND deleted = 0
      """, .id(owner)
    ) { row in try row.id(0) }
    known.liveLinks[owner] = links
    return links
  }

  /// Whether links of the owner lie beneath a folder.
  mutating func hasLinks(beneath folder: Forest.Node) throws -> Bool {
    guard folder.kind == .folder else { return false }
    return try aboveLinks(of: folder.owner).contains(folder.id)
  }

  /// What lies above the owner's links; by going up from each, for there are few, and once for all
  /// changes of the batch.
  private mutating func aboveLinks(of owner: Identifier) throws -> Set<Identifier> {
    if let above = known.aboveLinks[owner] { return above }
    var above: Set<Identifier> = []
    for link in try liveLinks(of: owner) {
      try load(link)
      let chain = tree.finalChain(link)
      if !chain.contains(where: \.isDeleted) { above.formUnion(chain.dropFirst().map(\.id)) }
    }
    known.aboveLinks[owner] = above
    return above
  }

  /// Whether anybody but the owner has been let in to one of the folders, by this batch or before.
  private mutating func isShared(_ chain: [Forest.Node]) throws -> Bool {
    for node in chain {
      let isShared = try known.isShared[node.id] ?? isShared(node)
      known.isShared[node.id] = isShared
      if isShared { return true }
    }
    return false
  }

  /// Whether the batch leaves a live share of the file.
  private func isShared(_ file: Forest.Node) throws -> Bool {
    let changes = shareChanges[file.id] ?? []
    if changes.contains(where: \.isGrant) { return true }
    guard file.hasLiveShares, !changes.isEmpty else { return file.hasLiveShares }
    let ended = Set(changes.map(\.account))
    return try [Share.State.pending, .accepted].contains { state in
      try !ended.isSuperset(of: Share.accounts(source, of: file.id, in: state))
    }
  }
}
