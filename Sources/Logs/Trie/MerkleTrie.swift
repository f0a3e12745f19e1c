/// The trie of hashes by which a device and the server find out from when on they have different messages.
///
/// A node is a minute's first digits in base 3, and its hash is the XOR of the hashes of all timestamps below it: the
/// trie of Actual, number for number. It is kept whole, in pages of four levels, which are loaded when they are needed.
/// So a new message changes four small rows, any node can be looked at, and the trie with the fewest nodes is
/// computed only for an answer.
package struct MerkleTrie {
  package typealias Load = (TriePath) throws -> TriePage?

  private let load: Load
  private var pages: [TriePath: TriePage] = [:]
  private var changedPaths: Set<TriePath> = []

  package init(load: @escaping Load = { _ in nil }) { self.load = load }

  /// The pages that differ from those that were loaded.
  package var changed: [(path: TriePath, page: TriePage)] {
    changedPaths.compactMap { path in pages[path].map { (path, $0) } }
  }

  /// The hash of everything; 0 if there is nothing.
  package mutating func root() throws -> Int32 { try page(at: .root).sum(at: []) ?? 0 }

  /// Adds a timestamp, which must not be in the trie.
  package mutating func add(_ timestamp: LogTimestamp) throws {
    let path = TriePath(minute: timestamp.minute)
    let hash = MurmurHash3.hash(timestamp.text)
    for place in Self.pagePaths(of: path) {
      let start = place.digits.count
      _ = try page(at: place)
      pages[place]?.add(hash, at: path.digits[start...].prefix(TriePage.depth))
      changedPaths.insert(place)
    }
  }

  /// The places of the pages that a timestamp changes.
  static func pagePaths(of timestamp: LogTimestamp) -> [TriePath] {
    pagePaths(of: TriePath(minute: timestamp.minute))
  }

  private static func pagePaths(of path: TriePath) -> [TriePath] {
    stride(from: 0, to: path.digits.count, by: TriePage.depth).map {
      TriePath(path.digits[..<$0])
    }
  }

  /// The nodes right below a path, by their digit.
  package mutating func children(of path: TriePath) throws -> [(digit: UInt8, hash: Int32)] {
    let start = path.digits.count / TriePage.depth * TriePage.depth
    let page = try page(at: TriePath(path.digits[..<start]))
    let place = path.digits[start...]
    return (0..<3).compactMap { digit in
      page.sum(at: place + [UInt8(digit)]).map { (UInt8(digit), $0) }
    }
  }

  /// The trie in Actual's JSON, with only the two highest children of each node: what a device compares its own
  /// with. An empty one is `{}`.
  ///
  /// Actual leaves the nodes of hash 0 whole. Here they are pruned as well, or one who chooses timestamps whose hashes
  /// cancel out would get all of them with each answer. A device stops comparing where a side has no node, and
  /// exchanges everything from that minute on.
  package mutating func pruned() throws -> [UInt8] {
    let children = try children(of: .root)
    guard !children.isEmpty else { return Array("{}".utf8) }
    var text: [UInt8] = []
    try write(.root, hash: root(), children, to: &text)
    return text
  }

  private mutating func write(
    _ path: TriePath, hash: Int32, _ children: [(digit: UInt8, hash: Int32)],
    to text: inout [UInt8]
  ) throws {
    text += Array(#"{"hash":"#.utf8) + Array(String(hash).utf8)
    for (digit, hash) in children.suffix(2) {
      text += [UInt8(ascii: ","), UInt8(ascii: "\""), 0x30 + digit] + Array("\":".utf8)
      let child = path.child(digit)
      try write(child, hash: hash, self.children(of: child), to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }

  private mutating func page(at path: TriePath) throws -> TriePage {
    if let page = pages[path] { return page }
    let page = try load(path) ?? TriePage()
    pages[path] = page
    return page
  }
}
