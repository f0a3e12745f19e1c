import Base

extension BatchRules {
  /// The rule broken by a link's place, or by links that get into a folder that others see.
  mutating func rule(
    ofLinksIn statement: FileRecord.Statement, in chain: [AncestorTree.Node]
  ) -> Rule? {
    switch statement.kind {
    case .document: return nil
    case .folder:
      guard tree.isMovedFolder(statement), isShared(chain),
        let folder = tree.current[statement.id], hasLinks(below: folder)
      else { return nil }
      return .linkInSharedFolder
    case .link:
      guard let target = statement.target else { return .linkTargetNotFound }
      guard statement.owner == caller else { return .linkNotOwnTree }
      if tree.current[statement.id] == nil, let rule = rule(ofNewLinkTo: target) { return rule }
      return isShared(chain) ? .linkInSharedFolder : nil
    }
  }

  private func rule(ofNewLinkTo target: Identifier) -> Rule? {
    guard let node = tree.current[target] else { return .linkTargetNotFound }
    guard node.owner != caller else { return .linkTargetOwned }
    guard let share = node.share, share.state.isLive, !tree.current.isDeleted(target) else {
      return .linkTargetNotFound
    }
    let links = snapshot.links[caller] ?? []
    let kept = links.filter { tree.planned[$0.id]?.isDeleted != true }
    guard !kept.contains(where: { $0.target == target }), tree.newLinks[target] == 1 else {
      return .linkExists
    }
    if kept.count + tree.newLinks.count > Self.linkCountMax { return .tooManyLinks }
    return seesTooMany ? .tooManyOwners : nil
  }

  private var seesTooMany: Bool {
    let added = tree.newLinks.keys.compactMap { tree.current[$0]?.owner }
    return snapshot.seenOwners.union(added).count > Self.viewCountMax
  }

  /// Whether the caller has a link to the file after the batch.
  func hasLink(to target: Identifier) -> Bool {
    let links = snapshot.links[caller] ?? []
    return links.contains { $0.target == target && tree.planned[$0.id]?.isDeleted != true }
      || tree.planned.values.contains {
        $0.target == target && $0.owner == caller && !$0.isDeleted
      }
  }

  mutating func hasLinks(below folder: AncestorTree.Node) -> Bool {
    guard folder.kind == .folder else { return false }
    return aboveLinks(of: folder.owner).contains(folder.id)
  }

  /// The folders above the owner's links, which are few; computed once for all changes of the batch.
  private mutating func aboveLinks(of owner: Identifier) -> Set<Identifier> {
    if let above = aboveLinks[owner] { return above }
    var above: Set<Identifier> = []
    for link in snapshot.links[owner] ?? [] {
      let chain = tree.finalChain(link.id)
      if !chain.contains(where: \.isDeleted) { above.formUnion(chain.dropFirst().map(\.id)) }
    }
    aboveLinks[owner] = above
    return above
  }

  /// Whether anyone but the owner has access to one of the folders, by this batch or before.
  private func isShared(_ chain: [AncestorTree.Node]) -> Bool { chain.contains(where: isShared) }

  /// Whether the batch leaves a live share of the file.
  private func isShared(_ file: AncestorTree.Node) -> Bool {
    if grantCounts[file.id] != nil { return true }
    guard file.hasLiveShares, let ended = endedCounts[file.id] else { return file.hasLiveShares }
    return (snapshot.shareCounts[file.id]?.live ?? 0) > ended
  }
}
