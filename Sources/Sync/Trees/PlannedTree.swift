internal import Base

/// The tree as it stands, and as a batch would leave it.
struct PlannedTree: Sendable {
  /// As it stands.
  var forest: Forest
  /// The changed files as the batch would leave them.
  var planned: [Identifier: Forest.Node] = [:]

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
}
