/// The part of a trie that stands in one row: four levels below a place.
///
/// At the fourth level it holds the sum of everything there and below. Above, it holds only what ends there; the sums
/// are those of the levels below. So a new message changes one hash in a page, and four pages.
///
/// A page's nodes are numbered level by level from its place on, which is 0: below the node n are 3n + 1 to 3n + 3.
package struct TriePage: Equatable, Sendable {
  static let depth = 4
  /// The first node of the fourth level: 1 + 3 + 9 + 27.
  private static let lastLevelStart = 40
  /// 1 + 3 + 9 + 27 + 81.
  private static let nodeCount = 121
  private static let entryByteCount = 5
  /// The bit of an entry's first byte that says that a page goes on below the node.
  private static let continuationBit: UInt8 = 0x80

  private struct Entry: Equatable {
    var hash: Int32
    /// Whether there is a page below the node. A minute may end at it as well.
    var goesOn: Bool
  }

  /// By the node's number; that of 0 has none.
  private var entries: [Entry?]

  init() { entries = Array(repeating: nil, count: Self.nodeCount) }

  /// Nil if no program of ours wrote the bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count.isMultiple(of: Self.entryByteCount) else { return nil }
    self.init()
    for start in stride(from: 0, to: bytes.count, by: Self.entryByteCount) {
      let node = Int(bytes[start] & ~Self.continuationBit) + 1
      let goesOn = bytes[start] & Self.continuationBit != 0
      guard node < Self.nodeCount, !goesOn || Self.isLast(node) else { return nil }
      var hash: UInt32 = 0
      for index in (start + 1)..<(start + Self.entryByteCount) {
        hash = hash << 8 | UInt32(bytes[index])
      }
      entries[node] = Entry(hash: Int32(bitPattern: hash), goesOn: goesOn)
    }
  }

  /// Of each node that has a hash, a byte (its number less one, and 128 more if a page is below) and the hash's four.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for (node, entry) in entries.enumerated() {
      guard let entry else { continue }
      bytes.append(UInt8(node - 1) | (entry.goesOn ? Self.continuationBit : 0))
      for shift in stride(from: Int32(24), through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: entry.hash >> shift))
      }
    }
    return bytes
  }

  /// Adds a hash at the place to which digits lead: one to four of them, or more if it goes on in the page below.
  mutating func add(_ hash: Int32, at digits: ArraySlice<UInt8>) {
    let node = Self.node(at: digits.prefix(Self.depth))
    var entry = entries[node] ?? Entry(hash: 0, goesOn: false)
    entry.hash ^= hash
    entry.goesOn = entry.goesOn || digits.count > Self.depth
    entries[node] = entry
  }

  /// The node to which at most four digits lead.
  static func node(at digits: ArraySlice<UInt8>) -> Int {
    digits.reduce(0) { $0 * 3 + Int($1) + 1 }
  }

  static func digits(of node: Int) -> [UInt8] {
    var (digits, node) = ([UInt8](), node)
    while node > 0 {
      digits.append(UInt8((node - 1) % 3))
      node = (node - 1) / 3
    }
    return digits.reversed()
  }

  /// Whether a node is at the fourth level.
  static func isLast(_ node: Int) -> Bool { node >= lastLevelStart }

  /// Whether a page is below any of the nodes.
  var goesOn: Bool { entries.contains { $0?.goesOn == true } }

  func goesOn(below node: Int) -> Bool { entries[node]?.goesOn ?? false }

  /// For each node the sum of everything there and below; nil if nothing is there.
  var sums: [Int32?] {
    var sums = entries.map { $0?.hash }
    for node in (1..<Self.nodeCount).reversed() {
      guard let sum = sums[node] else { continue }
      let parent = (node - 1) / 3
      sums[parent] = (sums[parent] ?? 0) ^ sum
    }
    return sums
  }
}
