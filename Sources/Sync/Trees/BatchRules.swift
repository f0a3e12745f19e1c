import Base

/// Judges a batch, and names a rule for every change that breaks one. It is a pure function of the batch and of the
/// data read for it. Expectations and permissions are judged by the tree as it is, and places by the tree as the
/// whole batch would leave it, so that it can swap names.
package struct BatchRules {
  /// Live links of one account.
  static let linkCountMax = 256
  /// Owners whose trees one account sees.
  static let viewCountMax = 256
  /// Pending and accepted shares of one file.
  static let shareCountMax = 256
  /// Live shares between one owner and one sharee. One transaction can still send all these invitations again.
  static let sharesBetweenMax = Visibility.restampCountMax
  /// Shares of one file that were ever granted; each stays on record.
  static let shareRowCountMax = 1024

  let batch: Batch
  let snapshot: BatchSnapshot
  var tree: PlannedTree
  /// By file: shares that the batch grants.
  let grantCounts: [Identifier: Int]
  /// By file: live shares that the batch ends. There is no entry for a file whose shares it does not change.
  let endedCounts: [Identifier: Int]
  private var failures: [Failure] = []
  private var raisedHeights: [Identifier: Int64] = [:]
  /// By owner: the folders above its live links as the batch would leave them, computed on first use.
  var aboveLinks: [Identifier: Set<Identifier>] = [:]
  /// By sharee: its live shares of the caller's files, including those that the batch adds.
  var sharesBetween: [Identifier: Int64]

  private init(_ batch: Batch, _ snapshot: BatchSnapshot) {
    self.batch = batch
    self.snapshot = snapshot
    tree = PlannedTree(batch, snapshot)
    let shares = batch.shares.map(\.statement)
    grantCounts = Dictionary(grouping: shares.filter(\.isGrant), by: \.file).mapValues(\.count)
    endedCounts = Dictionary(grouping: Set(shares.map(\.key)), by: \.file).mapValues { keys in
      keys.count { snapshot.shareStates[$0]?.isLive == true }
    }
    sharesBetween = snapshot.sharesBetween
  }

  var caller: Identifier { snapshot.caller }

  /// The plan of the batch. A refusal names every change that breaks a rule.
  package static func judge(
    _ batch: Batch, _ snapshot: BatchSnapshot
  ) throws(Refusal) -> BatchPlan {
    var rules = BatchRules(batch, snapshot)
    try rules.judgeFiles()
    rules.judgeShares()
    let invitations = rules.judgeInvitations()
    guard rules.failures.isEmpty else { throw .batchRefused(rules.failures) }
    return rules.plan(invitations)
  }

  private func plan(_ invitations: [Identifier: Int64]) -> BatchPlan {
    let owners = Self.owners(batch, tree)
    let sharees = snapshot.invitees.union(batch.shares.map(\.statement.account))
    let concerned = owners.union(sharees)
    return BatchPlan(
      tree: tree, records: snapshot.records, raisedHeights: raisedHeights,
      invitations: invitations,
      numbers: snapshot.numbers.filter { concerned.contains($0.key) }, owners: owners)
  }

  /// The caller, and the owners of the trees that are changed.
  static func owners(_ batch: Batch, _ tree: PlannedTree) -> Set<Identifier> {
    var owners: Set = [tree.current.account]
    for change in batch.files {
      owners.insert(change.statement.owner)
      // A link affects a share only while the share is live.
      if let target = change.statement.target.flatMap({ tree.current[$0] }),
        target.share?.state.isLive == true
      {
        owners.insert(target.owner)
      }
    }
    for change in batch.shares {
      if let owner = tree.final(change.statement.file)?.owner { owners.insert(owner) }
    }
    return owners
  }

  mutating func fail(_ file: Identifier, account: Identifier? = nil, _ rule: Rule) {
    failures.append(Failure(file: file, account: account, rule: rule))
  }

  // MARK: Files

  private mutating func judgeFiles() throws(Refusal) {
    var passed: [FileRecord.Statement] = []
    for (change, rule) in zip(batch.files, tree.rules) {
      if let rule { fail(change.statement.id, rule) } else { passed.append(change.statement) }
    }
    for statement in passed where !statement.isDeleted {
      if let rule = rule(ofPlaceOf: statement) { fail(statement.id, rule) }
    }
    guard failures.isEmpty else { return }
    raiseHeights()
    // Known before anything is locked: each height is an update of its own.
    guard 2 * Int64(raisedHeights.count) <= WorkBudget.written / 2 else { throw .batchTooCostly }
  }

  private mutating func rule(ofPlaceOf statement: FileRecord.Statement) -> Rule? {
    let chain = tree.finalChain(statement.parent)
    if let rule = tree.rule(of: statement, in: chain) { return rule }
    if isTooDeep(statement, room: PlannedTree.room(in: chain)) { return .tooDeep }
    if isNameTaken(statement) { return .nameTaken }
    return rule(ofLinksIn: statement, in: chain)
  }

  private mutating func isTooDeep(_ statement: FileRecord.Statement, room: Int64) -> Bool {
    guard room >= 0, tree.isInDoubt(statement) else { return room < 0 }
    // If there are too many files to count, the height is used instead.
    guard let counted = snapshot.countedHeights[statement.id] ?? nil else { return true }
    tree.setHeight(counted, of: statement.id)
    return counted > room
  }

  private func isNameTaken(_ statement: FileRecord.Statement) -> Bool {
    guard tree.isSingle(statement.place) else { return true }
    // A holder that the batch moves, renames or deletes frees the name.
    guard let holder = snapshot.nameHolders[statement.place], holder != statement.id else {
      return false
    }
    return tree.planned[holder] == nil
  }

  private mutating func raiseHeights() {
    for change in batch.files where !change.statement.isDeleted {
      var height = tree.final(change.statement.id)?.height ?? 0
      for folder in tree.finalChain(change.statement.parent) {
        height += 1
        // Continue to the root: a height that was counted anew may be less than one below it.
        guard folder.height < height else { continue }
        if tree.planned[folder.id] != nil {
          tree.setHeight(height, of: folder.id)
        } else {
          tree.current.raise(folder.id, to: height)
          raisedHeights[folder.id] = height
        }
      }
    }
  }
}
