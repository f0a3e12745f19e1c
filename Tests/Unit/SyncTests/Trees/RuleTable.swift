import Sync

/// The expected results of the rules, as tables: the first line that holds names the rule.
///
/// Written from `docs/sync-api.md` and the rules' own sentences, over `SmallWorld` alone.
struct RuleTable {
  typealias Line = (rule: Rule, holds: Bool)

  let world: SmallWorld
  let caller: Int

  private func first(_ lines: [Line]) -> Rule? { lines.first(where: \.holds)?.rule }

  // MARK: Files

  /// The rule that a batch of one file, not a link, breaks.
  func rule(_ change: SmallChange) -> Rule? {
    let file = change.file
    if let rule = expectation(change) { return rule }
    guard !file.isDeleted else { return nil }
    return parents(file)
      ?? first([(.nameTaken, world.holds(file.parent, file.name, but: file.id))])
  }

  private func expectation(_ change: SmallChange) -> Rule? {
    let file = change.file
    let seen = world.sees(caller, file.id)
    guard let current = world.files[file.id] else {
      guard case .new = change.expectation else { return .fileNotFound }
      return first([
        (.idTaken, world.remembered.contains(file.id)), (.oneRoot, file.parent == file.id),
        (.fileNotFound, file.isDeleted), (.signatureInvalid, !change.isSigned),
      ])
    }
    guard case .at(let parent, let name) = change.expectation else {
      return seen ? .stale : .idTaken
    }
    return first([
      (.fileNotFound, !seen),
      (.rootImmutable, world.isRoot(file.id)),
      (.fileDeleted, world.isDead(file.id)),
      (.typeImmutable, file.kind != current.kind),
      (.ownerImmutable, file.owner != current.owner),
      (.targetImmutable, file.target != current.target),
      (.notPermitted, !world.writes(caller, current.parent)),
      (.stale, parent != current.parent || name != current.name),
      (
        .deletionChangesRecord,
        file.isDeleted && (file.parent != current.parent || file.name != current.name)
      ),
      (.signatureInvalid, !change.isSigned),
    ])
  }

  private func parents(_ file: SmallWorld.File) -> Rule? {
    guard let parent = world.files[file.parent], world.sees(caller, parent.id) else {
      return .parentNotFound
    }
    return first([
      (.parentNotFolder, parent.kind != .folder),
      (.ownerDiffers, parent.owner != file.owner),
      (.notPermitted, !world.writes(caller, parent.id)),
      (.cycle, world.chain(parent.id).contains { $0.id == file.id }),
      (.parentDeleted, world.isDead(parent.id)),
    ])
  }

  // MARK: Links

  /// An account's links and owners outside of the world, as numbers, because there are too many to list.
  struct Bounds {
    var links = 0
    var seenOwners = 0
  }

  /// The rule that a new link breaks. `after` is the world after the rest of the batch.
  func rule(newLink file: SmallWorld.File, after: SmallWorld, _ bounds: Bounds) -> Rule? {
    guard let target = file.target else { return nil }
    if let rule = parents(file) { return rule }
    let current = world.files[target]
    let kept = after.files.values.filter {
      $0.kind == .link && $0.owner == caller && !$0.isDeleted
    }
    return first([
      (.linkNotOwnTree, file.owner != caller),
      (.linkTargetNotFound, current == nil),
      (.linkTargetOwned, current?.owner == caller),
      (
        .linkTargetNotFound,
        world.state(target, caller)?.isLive != true || world.isDead(target)
      ),
      (.linkExists, kept.contains { $0.target == target }),
      (.tooManyLinks, bounds.links + kept.count >= 256),
      (.tooManyOwners, bounds.seenOwners >= 256),
      (.linkInSharedFolder, after.isShared(file.parent)),
    ])
  }

  // MARK: Shares

  func rule(_ grant: SmallGrant) -> Rule? {
    let state = world.state(grant.file, grant.account)
    guard let file = world.files[grant.file], world.sees(caller, file.id) else {
      return .fileNotFound
    }
    let common = first([
      (.rootImmutable, world.isRoot(file.id)),
      (.linkNotShareable, file.kind == .link),
      (.fileDeleted, world.isDead(file.id)),
      (.notPermitted, grant.action == .reject && grant.account != caller),
      (.notOwner, grant.action != .reject && file.owner != caller),
      (.shareWithOwner, grant.action != .reject && grant.account == caller),
      (.shareNotFound, grant.expectation != state && state == nil),
      (.shareStale, grant.expectation != state),
      (.signatureInvalid, !grant.isSigned),
    ])
    if let common { return common }
    switch grant.action {
    case .grant:
      return first([
        (.accountNotFound, grant.account == SmallWorld.nobody),
        (.linkInSharedFolder, file.kind == .folder && world.hasLink(beneath: file.id)),
      ])
    case .revoke: return first([(.shareNotFound, state == nil), (.shareStale, state == .revoked)])
    case .reject:
      let hasLink = world.files.values.contains {
        $0.target == file.id && $0.owner == caller && !$0.isDeleted
      }
      return first([(.shareStale, state?.isLive != true), (.linkExists, hasLink)])
    }
  }

  // MARK: Batches

  /// Whether a batch of one owner's files is accepted. Each change must expect the file as it is. Afterwards
  /// every changed live file must be in a live folder, under a name of its own.
  func isLegal(_ changes: [SmallChange]) -> Bool {
    guard Set(changes.map(\.file.id)).count == changes.count else { return false }
    guard changes.allSatisfy({ expectation($0) == nil }) else { return false }
    var after = world
    for change in changes { after.add(change.file) }
    return changes.map(\.file).filter { !$0.isDeleted }.allSatisfy { file in
      let chain = after.chain(file.id)
      // A root has no name; a file that moved into itself has one.
      return chain.last?.name == 0 && !after.isDead(file.id)
        && chain.dropFirst().allSatisfy { $0.kind == .folder }
        && !after.holds(file.parent, file.name, but: file.id)
    }
  }
}
