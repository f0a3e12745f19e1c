import Base
import Storage

/// What a write changes in the capped folders of one owner.
struct FolderChanges {
  private let caps: [Identifier: FolderCap]
  private let fee: Int64
  /// The files that move by themselves, each with its own change.
  private let moved: Set<Identifier>
  private var deltas: [Identifier: Int64] = [:]
  /// Folders that lose more than one write counts.
  private var uncounted: Set<Identifier> = []

  init(_ caps: [FolderCap], moved: Set<Identifier>, fee: Int64) {
    self.caps = Dictionary(uniqueKeysWithValues: caps.map { ($0.folder, $0) })
    self.moved = moved
    self.fee = fee
  }

  func capped(_ chain: [AncestorTree.Node]) -> Set<Identifier> {
    Set(chain.map(\.id)).intersection(caps.keys)
  }

  mutating func add(_ delta: Int64, to folders: Set<Identifier>) {
    for folder in folders { deltas[folder, default: 0] += delta }
  }

  /// Moves what is below a file with it, except for what is below other files that move.
  mutating func move(
    _ file: FileRecord, from before: Set<Identifier>, to after: Set<Identifier>,
    _ transaction: Transaction
  ) throws {
    guard before != after else { return }
    let weight = try FolderWeight(
      of: file, transaction, fee: fee, countMax: FolderCap.countedCountMax,
      without: moved.subtracting([file.id]))
    if let weight {
      add(weight.byteCount, to: after.subtracting(before))
      add(-weight.byteCount, to: before.subtracting(after))
    } else {
      // Nobody knows whether it would fit.
      guard after.isSubset(of: before) else { throw Refusal.batchTooCostly }
      uncounted.formUnion(before.subtracting(after))
    }
  }

  /// Posts the changes, unless one is growth beyond a cap.
  func post(
    of owner: Identifier, askedBy caller: Identifier, _ transaction: Transaction
  ) throws {
    for (folder, delta) in deltas.sorted(by: { $0.key < $1.key }) {
      guard let cap = caps[folder] else { continue }
      try cap.require(delta, of: owner, askedBy: caller, transaction)
      try cap.post(delta, transaction)
    }
    for folder in uncounted { try caps[folder]?.countAgain(transaction) }
  }
}

extension FolderChanges {
  /// Those of a batch in the tree of an owner.
  init(_ plan: BatchPlan, _ caps: [FolderCap], fee: Int64) {
    let moved = plan.records.values.filter { record in
      plan.tree.planned[record.id].map { $0.parent != record.parent } ?? false
    }
    self.init(caps, moved: Set(moved.map(\.id)), fee: fee)
  }

  /// Adds a change of a file. `isKept`: it is deleted, and the trash keeps it.
  mutating func add(
    _ statement: FileRecord.Statement, in plan: BatchPlan, isKept: Bool,
    _ transaction: Transaction
  ) throws {
    let after = capped(plan.tree.finalChain(statement.parent))
    guard let record = plan.records[statement.id] else { return add(fee, to: after) }
    if statement.isDeleted {
      if !isKept { add(-fee - record.contentByteCount, to: after) }
    } else {
      let before = capped(plan.tree.current.chain(record.parent))
      try move(record, from: before, to: after, transaction)
    }
  }
}
