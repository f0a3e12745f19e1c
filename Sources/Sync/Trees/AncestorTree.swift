import Accounts
package import Base

enum Role: Comparable, Sendable {
  case stranger
  /// A share of exactly this record waits for an answer.
  case invited
  case reader, writer, owner
}

/// The files of a request and the folders above them, as one account sees them. It costs the depth of a file, not the
/// size of its tree.
package struct AncestorTree: Sendable {
  /// One record, without the parts that only its readers need.
  package struct Node: Sendable {
    let id: Identifier
    let owner: Identifier
    var parent: Identifier
    let kind: FileRecord.Kind
    let target: Identifier?
    /// Nil for a root.
    var hmac: [UInt8]?
    var isDeleted: Bool
    /// The folder with which this one was deleted.
    var deletedWith: Identifier?
    /// At least the number of levels below; it never shrinks.
    var height: Int64
    /// The mode and state of the account's own share of exactly this record.
    let share: (mode: Share.Mode, state: Share.State)?
    /// Whether anyone has accepted or was offered a share of exactly this record.
    let hasLiveShares: Bool

    var isRoot: Bool { parent == id }

    package init(
      id: Identifier, owner: Identifier, parent: Identifier, kind: FileRecord.Kind,
      target: Identifier?, hmac: [UInt8]?, isDeleted: Bool, deletedWith: Identifier?,
      height: Int64, share: (mode: Share.Mode, state: Share.State)?, hasLiveShares: Bool
    ) {
      self.id = id
      self.owner = owner
      self.parent = parent
      self.kind = kind
      self.target = target
      self.hmac = hmac
      self.isDeleted = isDeleted
      self.deletedWith = deletedWith
      self.height = height
      self.share = share
      self.hasLiveShares = hasLiveShares
    }
  }

  /// Levels below a root.
  static let depthMax = 128

  let account: Identifier
  private var nodes: [Identifier: Node] = [:]

  package init(seenBy account: Identifier) { self.account = account }

  subscript(_ id: Identifier) -> Node? { nodes[id] }

  package mutating func insert(_ node: Node) { nodes[node.id] = node }

  mutating func raise(_ id: Identifier, to height: Int64) { nodes[id]?.height = height }

  /// The file and everything above it, nearest first.
  func chain(_ id: Identifier) -> [Node] {
    var chain: [Node] = []
    var next = nodes[id]
    while let node = next, chain.count <= Self.depthMax {
      chain.append(node)
      next = node.isRoot ? nil : nodes[node.parent]
    }
    return chain
  }

  /// Whether the file or a folder above it is deleted.
  func isDeleted(_ id: Identifier) -> Bool { chain(id).contains(where: \.isDeleted) }

  /// The account's role for the file: the best of its shares on the way up.
  func role(_ id: Identifier) -> Role {
    guard let node = nodes[id] else { return .stranger }
    guard node.owner != account else { return .owner }
    let accepted = chain(id).compactMap { $0.share }.filter { $0.state == .accepted }
    if accepted.contains(where: { $0.mode == .write }) { return .writer }
    if !accepted.isEmpty { return .reader }
    return node.share?.state == .pending ? .invited : .stranger
  }

  /// The file marked as deleted if a folder above it is, even if its row does not say so yet.
  func marked(_ file: FileRecord) -> FileRecord {
    guard !file.isDeleted, let folder = chain(file.id).first(where: \.isDeleted) else {
      return file
    }
    var file = file
    file.isDeleted = true
    file.deletedWith = folder.deletedWith ?? folder.id
    return file
  }
}
