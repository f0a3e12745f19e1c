internal import Base
internal import Storage
internal import Tiers

/// Judges a batch by the tree it would leave behind, naming a rule for every change that breaks one.
///
/// What a change expects and who may make it is judged by the tree as it stands; where a file may lie
/// by the tree as the whole batch would leave it, so names can be swapped in one batch. The rows that
/// it reads are those of the changed files and of the folders above them, of a snapshot or under locks.
struct Judge {
  /// Live links of one account.
  static let linkCountMax = 256
  /// Owners whose trees one account sees.
  static let viewCountMax = 256
  /// Pending and accepted shares of one file.
  static let shareCountMax = 256
  /// Pending and accepted shares of one account's files that one other has, so that all its invitations
  /// can be told again in one transaction.
  static let sharesBetweenMax = Visibility.restampCountMax
  /// Shares of one file that were ever granted; each stays on record.
  static let shareRowCountMax = 1024

  let batch: Batch
  /// What the batch says of shares, by their files.
  let shareChanges: [Identifier: [ShareStatement]]
  let caller: Identifier
  let source: any Queryable
  let budget: WorkBudget

  var tree: PlannedTree
  private(set) var records: [Identifier: FileRecord] = [:]
  /// Ids of new files that forgotten ones had, whose links are left.
  private var rememberedIDs: Set<Identifier> = []
  private(set) var failures: [Failure] = []
  /// Unchanged folders that may have more levels beneath them than before.
  private(set) var raisedHeights: [Identifier: Int64] = [:]

  private var names: [Place: Int] = [:]
  /// Files that may yet be looked at beneath folders whose heights are in doubt.
  private var countable = WorkBudget.counted
  /// Links of the batch, by target.
  var newLinks: [Identifier: Int] = [:]
  /// What was asked once, and may be asked of every change.
  var known = Known()

  struct Known {
    /// Whether the batch leaves a folder to others' eyes.
    var isShared: [Identifier: Bool] = [:]
    /// By owner: what lies above the live links of the tree, as the batch would leave it.
    var aboveLinks: [Identifier: Set<Identifier>] = [:]
    var liveLinks: [Identifier: [Identifier]] = [:]
    /// Owners whose trees the caller sees.
    var seenOwners: Set<Identifier>?
    var liveShareCounts: [Identifier: Int64] = [:]
    var shareCounts: [Identifier: Int] = [:]
    /// By sharee: its live shares of the caller's files, with those that the batch adds.
    var sharesBetween: [Identifier: Int64] = [:]
    var contacts: [Identifier: Bool] = [:]
    /// By receiver: whether it has blocked the caller.
    var blocks: [Identifier: Bool] = [:]
    var accountNumbers: [Identifier: Int64?] = [:]
  }

  private struct Place: Hashable {
    let parent: Identifier
    let hmac: [UInt8]
  }

  /// Reads what the changes name, with all above it.
  init(
    _ batch: Batch, by caller: Identifier, _ source: any Queryable, _ budget: WorkBudget
  ) throws {
    self.batch = batch
    self.caller = caller
    self.source = source
    self.budget = budget
    tree = PlannedTree(forest: Forest(seenBy: caller))
    shareChanges = Dictionary(grouping: batch.shares.map(\.statement), by: \.file)
    for change in batch.files {
      let statement = change.statement
      if let record = try FileRecord.find(source, statement.id) {
        records[statement.id] = record
        try load(statement.id)
      } else if try FileRecord.isRemembered(source, statement.id) {
        rememberedIDs.insert(statement.id)
      }
      try load(statement.parent)
      if let target = statement.target { try load(target) }
    }
    for change in batch.shares { try load(change.statement.file) }
  }

  mutating func load(_ id: Identifier) throws {
    try tree.forest.load(id, source)
    try budget.check()
  }

  /// What the batch comes to; a refusal names every change that breaks a rule.
  mutating func judgement(
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws -> Judgement {
    try judgeFiles()
    try judgeShares()
    let invitations = try judgeInvitations(limits, catalogue: catalogue, now: now)
    guard failures.isEmpty else { throw Refusal.batchRefused(failures) }
    let owners = concernedOwners
    var numbers: [Identifier: Int64] = [:]
    for account in try owners.union(concernedSharees()) {
      numbers[account] = try number(of: account)
    }
    try budget.check()
    return Judgement(
      tree: tree, records: records, raisedHeights: raisedHeights, invitations: invitations,
      numbers: numbers, owners: owners)
  }

  /// The caller, and in whose trees something is changed.
  private var concernedOwners: Set<Identifier> {
    var owners: Set = [caller]
    for change in batch.files {
      owners.insert(change.statement.owner)
      // A link says something about a share only while that is alive.
      if let target = change.statement.target.flatMap({ tree.forest[$0] }),
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

  /// Whose shares change, and who is invited to a file that does.
  private mutating func concernedSharees() throws -> Set<Identifier> {
    var sharees = Set(batch.shares.map(\.statement.account))
    for change in batch.files where tree.forest[change.statement.id]?.hasLiveShares == true {
      sharees.formUnion(try Share.accounts(source, of: change.statement.id, in: .pending))
    }
    return sharees
  }

  /// Nil where there is no such account.
  mutating func number(of account: Identifier) throws -> Int64? {
    if let number = known.accountNumbers[account] { return number }
    let number = try Judgement.number(of: account, source)
    known.accountNumbers[account] = .some(number)
    return number
  }

  private mutating func judgeFiles() throws {
    var counts: [Identifier: Int] = [:]
    for change in batch.files { counts[change.statement.id, default: 0] += 1 }
    var passed: [FileStatement] = []
    for change in batch.files {
      let statement = change.statement
      let rule = counts[statement.id] == 1 ? standing(change) : .duplicateID
      if let rule { fail(statement.id, rule) } else { passed.append(statement) }
      if rule.map(Self.leavesPlan) ?? true { plan(statement) }
    }
    for statement in passed where !statement.isDeleted {
      if let rule = try place(statement) { fail(statement.id, rule) }
      try budget.check()
    }
    guard failures.isEmpty else { return }
    raiseHeights()
    // What is known before anything is locked: each height is an update of its own.
    guard 2 * Int64(raisedHeights.count) <= WorkBudget.written / 2 else {
      throw Refusal.batchTooCostly
    }
  }

  mutating func fail(_ file: Identifier, account: Identifier? = nil, _ rule: Rule) {
    failures.append(Failure(file: file, account: account, rule: rule))
  }

  // MARK: The tree as it stands

  /// What is wrong with a change before asking where the file would lie.
  private func standing(_ change: Batch.FileChange) -> Rule? {
    let statement = change.statement
    let record = records[statement.id]
    switch change.expectation {
    case .new:
      if record != nil { return tree.forest.role(statement.id) > .stranger ? .stale : .idTaken }
      if rememberedIDs.contains(statement.id) { return .idTaken }
      if statement.parent == statement.id { return .oneRoot }
      if statement.isDeleted { return .fileNotFound }
    case .at(let parent, let hmac):
      guard let record, tree.forest.role(statement.id) > .stranger else { return .fileNotFound }
      if let rule = immutable(statement, record) { return rule }
      if tree.forest.role(record.parent) < .writer { return .notPermitted }
      if record.parent != parent || record.name?.hmac != hmac { return .stale }
      if statement.isDeleted, !statement.repeats(record) { return .deletionChangesRecord }
    }
    return change.isSigned ? nil : .signatureInvalid
  }

  private func immutable(_ statement: FileStatement, _ record: FileRecord) -> Rule? {
    if record.isRoot { return .rootImmutable }
    if tree.forest.isDeleted(record.id) { return .fileDeleted }
    if statement.kind != record.kind { return .typeImmutable }
    if statement.owner != record.owner { return .ownerImmutable }
    if statement.target != record.target { return .targetImmutable }
    return nil
  }

  /// Whether the rest of the batch is judged as if this change were made.
  private static func leavesPlan(_ rule: Rule) -> Bool {
    switch rule {
    case .idTaken, .oneRoot, .fileNotFound, .rootImmutable, .duplicateID, .fileDeleted: false
    default: true
    }
  }

  private mutating func plan(_ statement: FileStatement) {
    let standing = tree.forest[statement.id]
    tree.planned[statement.id] = Forest.Node(
      id: statement.id, owner: statement.owner, parent: statement.parent, kind: statement.kind,
      target: statement.target, hmac: statement.name.hmac, isDeleted: statement.isDeleted,
      deletedWith: nil,
      height: standing?.height ?? 0, share: standing?.share,
      hasLiveShares: standing?.hasLiveShares ?? false)
    guard !statement.isDeleted else { return }
    names[Place(parent: statement.parent, hmac: statement.name.hmac), default: 0] += 1
    if let target = statement.target, standing == nil { newLinks[target, default: 0] += 1 }
  }

  // MARK: The tree as the batch leaves it

  /// What is wrong with where a live file would lie.
  private mutating func place(_ statement: FileStatement) throws -> Rule? {
    let isKnown = tree.forest[statement.parent] != nil
    guard let parent = tree.final(statement.parent),
      !isKnown || tree.forest.role(statement.parent) > .stranger
    else { return .parentNotFound }
    guard parent.kind == .folder else { return .parentNotFolder }
    guard statement.owner == parent.owner else { return .ownerDiffers }
    let chain = tree.finalChain(statement.parent)
    if let role = role(along: chain), role < .writer { return .notPermitted }
    if chain.contains(where: { $0.id == statement.id }) { return .cycle }
    if chain.contains(where: \.isDeleted) { return .parentDeleted }
    guard chain.last?.isRoot == true else {
      if Set(chain.map(\.id)).count < chain.count { return .cycle }
      // Ends where the batch itself would put a folder beneath what does not exist.
      return chain.last.flatMap { tree.final($0.parent) } == nil ? .parentNotFound : .tooDeep
    }
    if try isTooDeep(statement.id, levelsAbove: chain.count) { return .tooDeep }
    if try isNameTaken(statement) { return .nameTaken }
    return try links(statement, beneath: chain)
  }

  private mutating func isTooDeep(_ id: Identifier, levelsAbove: Int) throws -> Bool {
    let room = Int64(Forest.depthMax - levelsAbove)
    guard let height = tree.planned[id]?.height, height > room else { return room < 0 }
    // The height may be what once was, so before refusing it is counted.
    guard room >= 0, let counted = try countedHeight(id) else { return true }
    tree.planned[id]?.height = counted
    return counted > room
  }

  /// The levels beneath a folder, unless too many files are there to count.
  private mutating func countedHeight(_ folder: Identifier) throws -> Int64? {
    let levels = try source.rows(
      """
      WITH RECURSIVE beneath (id, level) AS (
        SELECT id, 0 FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id, b.level + 1 FROM beneath AS b JOIN sync.files AS f ON f.parent_id = b.id
        WHERE f.deleted = 0)
      SELECT level FROM beneath LIMIT $2
      """, .id(folder), .integer(countable + 1)
    ) { row in try row.integer(0) }
    guard levels.count > countable else {
      countable -= Int64(levels.count)
      return levels.max()
    }
    // Alone it might be counted.
    guard countable == WorkBudget.counted else { throw Refusal.batchTooCostly }
    return nil
  }

  /// A new folder gives the access that the first standing folder above it gives; nil where there is
  /// none, because new folders hang from each other or are too many.
  private func role(along chain: [Forest.Node]) -> Role? {
    chain.first { tree.forest[$0.id] != nil }.map { tree.forest.role($0.id) }
  }

  private func isNameTaken(_ statement: FileStatement) throws -> Bool {
    let place = Place(parent: statement.parent, hmac: statement.name.hmac)
    guard names[place] == 1 else { return true }
    guard tree.forest[statement.parent] != nil else { return false }
    let holder = try source.first(
      "SELECT id FROM sync.files WHERE parent_id = $1 AND name_hmac = $2 AND deleted = 0",
      .id(place.parent), .blob(place.hmac)
    ) { row in try row.id(0) }
    // A holder that the batch moves away, renames or deletes makes room.
    guard let holder, holder != statement.id else { return false }
    return tree.planned[holder] == nil
  }

  /// Lets every folder know how many levels may lie beneath it.
  private mutating func raiseHeights() {
    for change in batch.files where !change.statement.isDeleted {
      var height = tree.final(change.statement.id)?.height ?? 0
      for folder in tree.finalChain(change.statement.parent) {
        height += 1
        // On to the root: a height that was counted anew may be less than one beneath it.
        guard folder.height < height else { continue }
        if tree.planned[folder.id] != nil {
          tree.planned[folder.id]?.height = height
        } else {
          tree.forest.raise(folder.id, to: height)
          raisedHeights[folder.id] = height
        }
      }
    }
  }
}

extension FileStatement {
  /// Whether a deletion says nothing else.
  fileprivate func repeats(_ record: FileRecord) -> Bool {
    parent == record.parent && name == record.name && (record.key == nil || key == record.key)
  }
}
