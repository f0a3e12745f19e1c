/// The trie of hashes by which a device and the server find out from when on they have different messages.
///
/// A node is a minute's first digits in base 3, and its hash is the XOR of the hashes of all timestamps below it: the
/// trie of Actual. It is kept whole, in pages of four levels that are loaded when needed. So the messages of a minute
/// change four small rows, and the pruned trie is computed only for an answer.
package struct MerkleTrie {
  /// Returns the pages that there are at the places.
  package typealias Load = ([TriePath]) throws -> [TriePath: TriePage]

  private let load: Load
  private var pages: [TriePath: TriePage] = [:]
  private var changedPaths: Set<TriePath> = []

  package init(load: @escaping Load = { _ in [:] }) { self.load = load }

  /// The pages that differ from those that were loaded.
  package var changed: [(path: TriePath, page: TriePage)] {
    changedPaths.compactMap { path in pages[path].map { (path, $0) } }
  }

  /// The hash of everything; 0 if there is nothing.
  package mutating func root() throws -> Int32 { try page(at: .root).sums[0] ?? 0 }

  /// Adds timestamps, none of which may be in the trie. Many messages share a minute, so each minute is added once.
  package mutating func add(_ timestamps: some Sequence<LogTimestamp>) throws {
    var hashes: [Int64: Int32] = [:]
    for timestamp in timestamps {
      hashes[timestamp.minute, default: 0] ^= MurmurHash3.hash(timestamp.text)
    }
    let minutes = hashes.map { (path: TriePath(minute: $0.key), hash: $0.value) }
    try fetch(Set(minutes.flatMap { Self.pagePaths(of: $0.path) }))
    for (path, hash) in minutes {
      for place in Self.pagePaths(of: path) {
        pages[place]?.add(hash, at: path.digits[place.digits.count...])
        changedPaths.insert(place)
      }
    }
  }

  /// The places of the pages that a minute changes.
  private static func pagePaths(of path: TriePath) -> [TriePath] {
    stride(from: 0, to: path.digits.count, by: TriePage.depth).map {
      TriePath(path.digits[..<$0])
    }
  }

  /// The nodes right below a path, by their digit.
  package mutating func children(of path: TriePath) throws -> [(digit: UInt8, hash: Int32)] {
    let start = path.digits.count / TriePage.depth * TriePage.depth
    let sums = try page(at: TriePath(path.digits[..<start])).sums
    let node = TriePage.node(at: path.digits[start...])
    return (0..<3).compactMap { digit in
      sums[3 * node + 1 + digit].map { (UInt8(digit), $0) }
    }
  }

  /// The trie in Actual's JSON, with only the two highest children of each node. An empty one is `{}`.
  ///
  /// Actual leaves the nodes of hash 0 whole. Here they are pruned as well, or one who chooses timestamps whose hashes
  /// cancel out would get all of them with each answer. A trie of very many minutes ends above the earlier ones. A
  /// device stops comparing where a side has no node, and exchanges everything from that minute on.
  package mutating func pruned() throws -> [UInt8] {
    try PrunedTrie { paths in
      try fetch(paths)
      return paths.map { pages[$0] ?? TriePage() }
    }.text
  }

  private mutating func page(at path: TriePath) throws -> TriePage {
    try fetch([path])
    return pages[path] ?? TriePage()
  }

  private mutating func fetch(_ paths: some Sequence<TriePath>) throws {
    let missing = paths.filter { pages[$0] == nil }
    guard !missing.isEmpty else { return }
    let loaded = try load(missing)
    for path in missing { pages[path] = loaded[path] ?? TriePage() }
  }
}
