internal import Base
internal import Storage

/// Judges a batch by the tree it would leave behind, naming a rule for every change that breaks one.
///
/// What a change expects and who may make it is judged by the tree as it stands; where a file may lie
/// by the tree as the whole batch would leave it, so names can be swapped in one batch. The rows that
/// it reads are those of the changed files and of the folders above them; the owners are locked.
struct Judge {
  /// Live links of one account.
  static let linkCountMax = 256
  /// Owners whose trees one account sees.
  static let viewCountMax = 256
  /// Pending and accepted shares of one file.
  static let shareCountMax = 256
  /// Shares of one file that were ever granted; each stays on record.
  static let shareRowCountMax = 1024

  /// Files that may be looked at beneath a folder whose height is in doubt.
  private static let countedFilesMax: Int64 = 5000

  let batch: Batch
  let caller: Identifier
  let transaction: Transaction

  /// As it stands.
  var forest: Forest
  private(set) var records: [Identifier: FileRecord] = [:]
  /// Ids of new files that forgotten ones had, whose links are left.
  private var rememberedIDs: Set<Identifier> = []
  /// The changed files as the batch would leave them.
  private(set) var planned: [Identifier: Forest.Node] = [:]
  private(set) var failures: [Failure] = []
  /// Unchanged folders that may have more levels beneath them than before.
  private(set) var raisedHeights: [Identifier: Int64] = [:]

  private var names: [Place: Int] = [:]
  /// Links of the batch, by target.
  var newLinks: [Identifier: Int] = [:]
  /// Of the folders that were asked about, whether others see them.
  var sharedFiles: [Identifier: Bool] = [:]

  private struct Place: Hashable {
    let parent: Identifier
    let hmac: [UInt8]
  }

  init(_ batch: Batch, by caller: Identifier, _ transaction: Transaction) throws {
    self.batch = batch
    self.caller = caller
    self.transaction = transaction
    forest = Forest(seenBy: caller)
    for change in batch.files {
      let statement = change.statement
      if let record = try FileRecord.find(transaction, statement.id) {
        records[statement.id] = record
        try forest.load(statement.id, transaction)
      } else if try FileRecord.isRemembered(transaction, statement.id) {
        rememberedIDs.insert(statement.id)
      }
      try forest.load(statement.parent, transaction)
      if let target = statement.target { try forest.load(target, transaction) }
    }
    for change in batch.shares { try forest.load(change.statement.file, transaction) }
  }

  /// The file as the batch would leave it.
  func final(_ id: Identifier) -> Forest.Node? { planned[id] ?? forest[id] }

  /// The file and all above it, nearest first, as the batch would leave them; ends early in a cycle.
  func finalChain(_ id: Identifier) -> [Forest.Node] {
    var chain: [Forest.Node] = []
    var next = final(id)
    while let node = next, chain.count <= Forest.depthMax + 1 {
      chain.append(node)
      next = node.isRoot ? nil : final(node.parent)
    }
    return chain
  }

  mutating func judgeFiles() throws {
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
    }
    if failures.isEmpty { raiseHeights() }
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
      if record != nil { return forest.role(statement.id) > .stranger ? .stale : .idTaken }
      if rememberedIDs.contains(statement.id) { return .idTaken }
      if statement.parent == statement.id { return .oneRoot }
      if statement.isDeleted { return .fileNotFound }
    case .at(let parent, let hmac):
      guard let record, forest.role(statement.id) > .stranger else { return .fileNotFound }
      if let rule = immutable(statement, record) { return rule }
      if forest.role(record.parent) < .writer { return .notPermitted }
      if record.parent != parent || record.name?.hmac != hmac { return .stale }
      if statement.isDeleted, !statement.repeats(record) { return .deletionChangesRecord }
    }
    return change.isSigned ? nil : .signatureInvalid
  }

  private func immutable(_ statement: FileStatement, _ record: FileRecord) -> Rule? {
    if record.isRoot { return .rootImmutable }
    if forest.isDeleted(record.id) { return .fileDeleted }
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
    let standing = forest[statement.id]
    planned[statement.id] = Forest.Node(
      id: statement.id, owner: statement.owner, parent: statement.parent, kind: statement.kind,
      target: statement.target, hmac: statement.name.hmac, isDeleted: statement.isDeleted,
      deletedWith: nil,
      height: standing?.height ?? 0, share: standing?.share)
    guard !statement.isDeleted else { return }
    names[Place(parent: statement.parent, hmac: statement.name.hmac), default: 0] += 1
    if let target = statement.target, standing == nil { newLinks[target, default: 0] += 1 }
  }

  // MARK: The tree as the batch leaves it

  /// What is wrong with where a live file would lie.
  private mutating func place(_ statement: FileStatement) throws -> Rule? {
    let isKnown = forest[statement.parent] != nil
    guard let parent = final(statement.parent),
      !isKnown || forest.role(statement.parent) > .stranger
    else { return .parentNotFound }
    guard parent.kind == .folder else { return .parentNotFolder }
    guard statement.owner == parent.owner else { return .ownerDiffers }
    let chain = finalChain(statement.parent)
    if let role = role(along: chain), role < .writer { return .notPermitted }
    if chain.contains(where: { $0.id == statement.id }) { return .cycle }
    if chain.contains(where: \.isDeleted) { return .parentDeleted }
    guard chain.last?.isRoot == true else {
      if Set(chain.map(\.id)).count < chain.count { return .cycle }
      // Ends where the batch itself would put a folder beneath what does not exist.
      return chain.last.flatMap { final($0.parent) } == nil ? .parentNotFound : .tooDeep
    }
    if try isTooDeep(statement.id, levelsAbove: chain.count) { return .tooDeep }
    if try isNameTaken(statement) { return .nameTaken }
    return try links(statement, beneath: chain)
  }

  private mutating func isTooDeep(_ id: Identifier, levelsAbove: Int) throws -> Bool {
    let room = Int64(Forest.depthMax - levelsAbove)
    guard let height = planned[id]?.height, height > room else { return room < 0 }
    // The height may be what once was, so before refusing it is counted.
    guard room >= 0, let counted = try countedHeight(id) else { return true }
    planned[id]?.height = counted
    return counted > room
  }

  /// The levels beneath a folder, unless too many files are there to count.
  private func countedHeight(_ folder: Identifier) throws -> Int64? {
    let levels = try transaction.rows(
      """
      WITH RECURSIVE beneath (id, level) AS (
        SELECT id, 0 FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id, b.level + 1 FROM beneath AS b JOIN sync.files AS f ON f.parent_id = b.id
        WHERE f.deleted = 0)
      SELECT level FROM beneath LIMIT $2
      """, .id(folder), .integer(Self.countedFilesMax + 1)
    ) { row in try row.integer(0) }
    return levels.count > Self.countedFilesMax ? nil : levels.max()
  }

  /// A new folder gives the access that the first standing folder above it gives; nil where there is
  /// none, because new folders hang from each other or are too many.
  private func role(along chain: [Forest.Node]) -> Role? {
    chain.first { forest[$0.id] != nil }.map { forest.role($0.id) }
  }

  private func isNameTaken(_ statement: FileStatement) throws -> Bool {
    let place = Place(parent: statement.parent, hmac: statement.name.hmac)
    guard names[place] == 1 else { return true }
    guard forest[statement.parent] != nil else { return false }
    let holder = try transaction.first(
      "SELECT id FROM sync.files WHERE parent_id = $1 AND name_hmac = $2 AND deleted = 0",
      .id(place.parent), .blob(place.hmac)
    ) { row in try row.id(0) }
    // A holder that the batch moves away, renames or deletes makes room.
    guard let holder, holder != statement.id else { return false }
    return planned[holder] == nil
  }

  /// Lets every folder know how many levels may lie beneath it.
  private mutating func raiseHeights() {
    for change in batch.files where !change.statement.isDeleted {
      var height = final(change.statement.id)?.height ?? 0
      for folder in finalChain(change.statement.parent) {
        height += 1
        // On to the root: a height that was counted anew may be less than one beneath it.
        guard folder.height < height else { continue }
        if planned[folder.id] != nil {
          planned[folder.id]?.height = height
        } else {
          forest.raise(folder.id, to: height)
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
