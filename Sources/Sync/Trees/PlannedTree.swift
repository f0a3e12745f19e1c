import Base

/// The tree as it is, and as a batch would leave it. A change that breaks a rule is still planned, if the rest can be
/// judged as if it were made.
struct PlannedTree: Sendable {
  var current: AncestorTree
  /// The changed files as the batch would leave them.
  var planned: [Identifier: AncestorTree.Node] = [:]
  /// The rule that each change of a file breaks, in their order, before its place is judged.
  private(set) var rules: [Rule?] = []
  /// New links, by target.
  private(set) var newLinks: [Identifier: Int] = [:]
  private var names: [BatchSnapshot.Place: Int] = [:]

  init(_ batch: Batch, _ snapshot: BatchSnapshot) {
    current = snapshot.tree
    var counts: [Identifier: Int] = [:]
    for change in batch.files { counts[change.statement.id, default: 0] += 1 }
    for change in batch.files {
      let rule = counts[change.statement.id] == 1 ? rule(of: change, snapshot) : .duplicateID
      rules.append(rule)
      if rule.map(Self.leavesPlan) ?? true { plan(change.statement) }
    }
  }

  // MARK: As it is

  private func rule(of change: Batch.FileChange, _ snapshot: BatchSnapshot) -> Rule? {
    let statement = change.statement
    let record = snapshot.records[statement.id]
    switch change.expectation {
    case .new:
      if record != nil { return current.role(statement.id) > .stranger ? .stale : .idTaken }
      if snapshot.rememberedIDs.contains(statement.id) { return .idTaken }
      if statement.parent == statement.id { return .oneRoot }
      if statement.isDeleted { return .fileNotFound }
    case .at(let parent, let hmac):
      guard let record, current.role(statement.id) > .stranger else { return .fileNotFound }
      if let rule = immutable(statement, record) { return rule }
      if current.role(record.parent) < .writer { return .notPermitted }
      if record.parent != parent || record.name?.hmac != hmac { return .stale }
      if statement.isDeleted, !statement.repeats(record) { return .deletionChangesRecord }
    }
    return change.isSigned ? nil : .signatureInvalid
  }

  private func immutable(_ statement: FileRecord.Statement, _ record: FileRecord) -> Rule? {
    if record.isRoot { return .rootImmutable }
    if current.isDeleted(record.id) { return .fileDeleted }
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

  private mutating func plan(_ statement: FileRecord.Statement) {
    let before = current[statement.id]
    planned[statement.id] = AncestorTree.Node(
      id: statement.id, owner: statement.owner, parent: statement.parent, kind: statement.kind,
      target: statement.target, hmac: statement.name.hmac, isDeleted: statement.isDeleted,
      deletedWith: nil,
      height: before?.height ?? 0, share: before?.share,
      hasLiveShares: before?.hasLiveShares ?? false)
    guard !statement.isDeleted else { return }
    names[statement.place, default: 0] += 1
    if let target = statement.target, before == nil { newLinks[target, default: 0] += 1 }
  }

  // MARK: As the batch leaves it

  func final(_ id: Identifier) -> AncestorTree.Node? { planned[id] ?? current[id] }

  /// The file and everything above it, nearest first, as the batch would leave them. Ends early in a cycle.
  func finalChain(_ id: Identifier) -> [AncestorTree.Node] {
    var chain: [AncestorTree.Node] = []
    var next = final(id)
    while let node = next, chain.count <= AncestorTree.depthMax + 1 {
      chain.append(node)
      next = node.isRoot ? nil : final(node.parent)
    }
    return chain
  }

  /// The rule broken by the folders above a live file, nearest first. Depth, name and kind are judged later.
  func rule(of statement: FileRecord.Statement, in chain: [AncestorTree.Node]) -> Rule? {
    let isKnown = current[statement.parent] != nil
    guard let parent = final(statement.parent),
      !isKnown || current.role(statement.parent) > .stranger
    else { return .parentNotFound }
    guard parent.kind == .folder else { return .parentNotFolder }
    guard statement.owner == parent.owner else { return .ownerDiffers }
    if let role = role(along: chain), role < .writer { return .notPermitted }
    if chain.contains(where: { $0.id == statement.id }) { return .cycle }
    if chain.contains(where: \.isDeleted) { return .parentDeleted }
    guard chain.last?.isRoot == true else {
      if Set(chain.map(\.id)).count < chain.count { return .cycle }
      // The chain ends early if the batch puts a folder below one that does not exist.
      return chain.last.flatMap { final($0.parent) } == nil ? .parentNotFound : .tooDeep
    }
    return nil
  }

  /// The role that the first existing folder of the chain gives. Nil if there is none.
  private func role(along chain: [AncestorTree.Node]) -> Role? {
    chain.first { current[$0.id] != nil }.map { current.role($0.id) }
  }

  /// The levels that may lie below a file in the folders.
  static func room(in chain: [AncestorTree.Node]) -> Int64 {
    Int64(AncestorTree.depthMax - chain.count)
  }

  /// Whether a folder's height, which may be outdated, must be counted before it can refuse a change.
  func isInDoubt(_ statement: FileRecord.Statement) -> Bool {
    guard let height = planned[statement.id]?.height, height > 0 else { return false }
    let room = Self.room(in: finalChain(statement.parent))
    return room >= 0 && height > room
  }

  func isSingle(_ place: BatchSnapshot.Place) -> Bool { names[place] == 1 }

  func isMovedFolder(_ statement: FileRecord.Statement) -> Bool {
    guard statement.kind == .folder, let before = current[statement.id] else { return false }
    return before.parent != statement.parent
  }

  mutating func setHeight(_ height: Int64, of id: Identifier) { planned[id]?.height = height }
}

extension FileRecord.Statement {
  var place: BatchSnapshot.Place { BatchSnapshot.Place(parent: parent, hmac: name.hmac) }

  fileprivate func repeats(_ record: FileRecord) -> Bool {
    parent == record.parent && name == record.name && (record.key == nil || key == record.key)
  }
}
