/// A block's place in its chain, and its hash.
package struct ChainPoint: Equatable, Sendable {
  package let epoch: Int64
  let hash: [UInt8]
}

extension ChainPoint {
  init(_ block: ChainBlock) { self.init(epoch: block.epoch, hash: block.hash) }
}

/// A chain's members at its head, as far as blocks name them. So a block costs what it names, in any chain.
struct ChainMembers: Sendable {
  private(set) var head: ChainPoint
  /// All members, including those that are not named.
  private(set) var count: Int
  /// Since which epoch those are members that are named, or will be by the blocks to come.
  private(set) var since: [[UInt8]: Int64]

  static let countMax = 256

  /// Appends a block. Who is removed leaves first, so that the same block may add it again.
  mutating func append(_ block: ChainBlock) throws(ChainRule) {
    guard block.parent == head.hash else { throw .parentDiffers }
    guard block.epoch == head.epoch + 1 else { throw .epochDiffers }
    guard since[block.author] != nil else { throw .authorNotMember }
    guard !block.removals.contains(block.author) else { throw .authorRemoved }
    var next = self
    for key in block.removals {
      guard next.since.removeValue(forKey: key) != nil else { throw .notMember }
    }
    for key in block.additions {
      guard next.since.updateValue(block.epoch, forKey: key) == nil else { throw .alreadyMember }
    }
    next.count += block.additions.count - block.removals.count
    guard next.count <= Self.countMax else { throw .tooManyMembers }
    next.head = ChainPoint(block)
    self = next
  }

  /// The members before the head, which must be this block.
  func before(_ block: ChainBlock, parent: [UInt8]) -> ChainMembers {
    var before = self
    for key in block.additions { before.since[key] = nil }
    before.count -= block.additions.count
    before.head = ChainPoint(epoch: block.epoch - 1, hash: parent)
    return before
  }
}

extension ChainMembers {
  /// The chain of a root alone.
  init(root: ChainBlock) throws(ChainRule) {
    guard root.epoch == 0, root.parent == nil, root.additions == [root.author],
      root.removals.isEmpty
    else { throw .rootInvalid }
    self.init(head: ChainPoint(root), count: 1, since: [root.author: 0])
  }
}
