import Base
import JSON
import TestDevices

/// Every change of trees that a server answered with 200, from any number of devices.
final class TreeHistory: Sendable {
  /// Changes of one owner's tree that took effect together.
  private struct Batch {
    let files: [FileChange]
    let versions: [Int64]
  }

  private let batches = Locked<[Batch]>([])

  /// Records the changes that an answer acknowledges.
  func note(_ files: [FileChange], _ answer: Answer) throws {
    let versions = try (answer.json["files"].array ?? []).compactMap { $0["version"].integer }
    let parts = Dictionary(grouping: zip(files, versions)) { $0.0.file.owner }.values
    batches.withLock { batches in
      for part in parts { batches.append(Batch(files: part.map(\.0), versions: part.map(\.1))) }
    }
  }

  var count: Int { batches.withLock { $0.count } }

  /// A file in the state after the batches before some moment.
  struct Node: Equatable {
    let parent: Identifier
    let hmac: [UInt8]
    let isFolder: Bool
    let isDeleted: Bool
  }

  /// Replays one owner's batches in the order of their versions, each as a whole. Returns the resulting tree,
  /// and everything that could not have been acknowledged in that order.
  func replay(of owner: Identifier, root: Identifier) -> (
    tree: [Identifier: Node], violations: [String]
  ) {
    let own = batches.withLock { $0 }.filter { $0.files[0].file.owner == owner }
      .sorted { ($0.versions.min() ?? 0) < ($1.versions.min() ?? 0) }
    var replay = Replay(root: root)
    for batch in own { replay.perform(batch) }
    let versions = own.flatMap(\.versions)
    if Set(versions).count != own.reduce(0, { $0 + $1.files.count }) {
      replay.violations.append("versions are missing or given twice")
    }
    return (replay.tree, replay.violations)
  }

  private struct Replay {
    var tree: [Identifier: Node]
    var violations: [String] = []
    let root: Identifier

    init(root: Identifier) {
      self.root = root
      tree = [root: Node(parent: root, hmac: [], isFolder: true, isDeleted: false)]
    }

    mutating func perform(_ batch: Batch) {
      let moment = batch.versions.min() ?? 0
      for change in batch.files {
        if !isExpected(change) { violations.append("\(moment): \(change.file.id) stood otherwise") }
      }
      for change in batch.files {
        tree[change.file.id] = Node(
          parent: change.file.parent, hmac: change.file.name.hmac,
          isFolder: change.file.type == "folder", isDeleted: change.file.deleted)
      }
      for change in batch.files where !change.file.deleted {
        if let trouble = misplaced(change.file) {
          violations.append("\(moment): \(change.file.id) \(trouble)")
        }
      }
    }

    private func isExpected(_ change: FileChange) -> Bool {
      let node = tree[change.file.id]
      switch change.expect {
      case .new: return node == nil
      case .at(let parent, let hmac):
        guard let node else { return false }
        return node.parent == parent && node.hmac == hmac && isAlive(change.file.id)
      }
    }

    private func misplaced(_ file: FileStatement) -> String? {
      guard let parent = tree[file.parent], parent.isFolder else { return "lies in no folder" }
      guard isAlive(file.id) else { return "lies beneath a deleted folder, or in a circle" }
      let siblings = tree.filter { id, node in
        node.parent == file.parent && node.hmac == file.name.hmac && !node.isDeleted && id != root
      }
      return siblings.count == 1 ? nil : "has the name of another"
    }

    /// Whether neither the file nor a folder above it is deleted, up to the root.
    private func isAlive(_ id: Identifier) -> Bool {
      var place = id
      for _ in tree {
        guard let node = tree[place], !node.isDeleted else { return false }
        if place == root { return true }
        place = node.parent
      }
      return false
    }
  }
}
