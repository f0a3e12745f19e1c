/// The part of a trie that stands in one row: four levels below a place.
///
/// At the fourth level it holds the sum of everything there and below. Above, it holds only what ends there; the sums
/// are those of the levels below. So a new message changes one hash in a page, and four pages.
package struct TriePage: Equatable, Sendable {
  /// The levels of a page.
  static let depth = 4
  /// The number of the first place of each level among all places of a page.
  private static let starts = [0, 0, 3, 12, 39]
  /// 3 + 9 + 27 + 81.
  private static let placeCount = 120
  private static let entryByteCount = 5

  /// By the place's number.
  private var hashes: [Int32?]

  init() { hashes = Array(repeating: nil, count: Self.placeCount) }

  /// Nil if no program of ours wrote the bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count.isMultiple(of: Self.entryByteCount) else { return nil }
    self.init()
    for start in stride(from: 0, to: bytes.count, by: Self.entryByteCount) {
      let place = Int(bytes[start])
      guard place < Self.placeCount else { return nil }
      hashes[place] = bytes[(start + 1)..<(start + Self.entryByteCount)].reduce(0) {
        $0 << 8 | Int32($1)
      }
    }
  }

  /// A byte for the place and four for its hash, of each place that has one.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for (place, hash) in hashes.enumerated() {
      guard let hash else { continue }
      bytes.append(UInt8(place))
      for shift in stride(from: Int32(24), through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: hash >> shift))
      }
    }
    return bytes
  }

  /// Adds a hash at a place of one to four digits.
  mutating func add(_ hash: Int32, at digits: ArraySlice<UInt8>) {
    let place = Self.starts[digits.count] + Self.value(digits)
    hashes[place] = (hashes[place] ?? 0) ^ hash
  }

  /// The sum of a place and everything below it; nil if nothing is there.
  func sum(at digits: ArraySlice<UInt8>) -> Int32? {
    var sum: Int32?
    var (first, count) = (Self.value(digits), 1)
    for level in digits.count...Self.depth {
      if level > 0 {
        for place in first..<(first + count) {
          guard let hash = hashes[Self.starts[level] + place] else { continue }
          sum = (sum ?? 0) ^ hash
        }
      }
      (first, count) = (first * 3, count * 3)
    }
    return sum
  }

  private static func value(_ digits: ArraySlice<UInt8>) -> Int {
    digits.reduce(0) { $0 * 3 + Int($1) }
  }
}
