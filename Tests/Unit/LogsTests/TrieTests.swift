import Base
import JSON
import Logs
import NaiveTries
import SeededRandom
import Testing

/// The trie of hashes is number for number that of other implementations, and equals one that is built naively.
@Suite struct TrieTests {
  @Test(arguments: TrieVector.all.indices)
  func `a timestamp has the key and the hash that others computed`(index: Int) throws {
    let vector = TrieVector.all[index]
    var trie = MerkleTrie()
    try trie.add([#require(LogTimestamp(vector.text))])
    #expect(try trie.root() == Int32(bitPattern: vector.hash))
    let paths = vector.key.indices.map { String(vector.key[...$0]) }
    for (path, parent) in zip(paths, [""] + paths) {
      let children = try trie.children(of: #require(TriePath(parent)))
      #expect(children.map { parent + String($0.digit) } == [path])
      #expect(children.map(\.hash) == [Int32(bitPattern: vector.hash)])
    }
    #expect(try trie.children(of: #require(TriePath(vector.key))).isEmpty)
  }

  @Test func `sets of timestamps have the roots that others computed`() throws {
    #expect(
      try root([
        "2018-11-12T13:21:40.122Z-0000-0123456789ABCDEF",
        "2018-11-13T13:21:40.122Z-0000-0123456789ABCDEF",
      ]) == 565_800_531)
    #expect(
      try root([
        "2024-05-01T12:00:00.000Z-0000-0123456789abcdef",
        "2024-05-01T12:00:00.000Z-0001-0123456789abcdef",
        "2026-11-20T08:30:15.250Z-00FF-fedcba9876543210",
      ]) == 906_422_164)
    #expect(try root(TrieVector.all.map(\.text)) == -787_289_045)
    let minutes = (0..<27).map { minute in
      "2026-01-01T00:\(minute < 10 ? "0" : "")\(minute):00.000Z-0000-0123456789abcdef"
    }
    #expect(try root(minutes) == 1_555_022_335)
    var trie = try trie(minutes)
    #expect(try trie.pruned().count == 667)
  }

  @Test func `an empty trie is an empty object`() throws {
    var trie = MerkleTrie()
    #expect(try trie.pruned() == Array("{}".utf8))
    #expect(try trie.root() == 0)
    #expect(try trie.children(of: .root).isEmpty)
  }

  @Test func `10,000 random logs have the naive trie, pruned and whole`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "TrieTests"))
    for _ in 0..<10_000 {
      let texts = random.log()
      var trie = try trie(texts)
      let naive = try naive(texts)
      #expect(try String(decoding: trie.pruned(), as: UTF8.self) == naive.pruned().json)
      #expect(try whole(&trie, at: "") == naive.json)
    }
  }

  @Test func `a trie in rows, loaded again for every message, is that in memory`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "rows of TrieTests"))
    for _ in 0..<200 {
      let texts = random.log()
      var rows: [TriePath: [UInt8]] = [:]
      for text in texts {
        var trie = MerkleTrie { [rows] paths in pages(paths, of: rows) }
        try trie.add([#require(LogTimestamp(text))])
        #expect(trie.changed.count <= 6)
        for (path, page) in trie.changed { rows[path] = page.bytes }
      }
      var (trie, loaded) = (
        try trie(texts), MerkleTrie { [rows] paths in pages(paths, of: rows) }
      )
      #expect(try loaded.pruned() == trie.pruned())
      #expect(try whole(&loaded, at: "") == whole(&trie, at: ""))
      #expect(loaded.changed.isEmpty)
    }
  }

  @Test func `an answer's trie is loaded level by level, and only pages that there are`() throws {
    // Every minute of three days, so each node has all its children, down to the minute.
    let texts = try (0..<4320).map { try text(ofMinute: 29_000_000 + $0) }
    let rows = try rows(of: texts)
    var asked: [[TriePath]] = []
    var loaded = MerkleTrie { paths in
      asked.append(paths)
      return pages(paths, of: rows)
    }
    #expect(try String(decoding: loaded.pruned(), as: UTF8.self) == naive(texts).pruned().json)
    #expect(asked.count == 4)
    #expect(asked.joined().allSatisfy { rows[$0] != nil })
  }

  @Test func `a trie of chosen minutes ends above the earlier ones, which are exchanged`() throws {
    // The first 12 of 16 digits are 1 or 2 in every way, so the pruned trie would have 4,096 pages of the last level.
    let texts = try (0..<4096).map { bits in
      let place = (0..<12).reduce(Int64(0)) { (place: Int64, digit: Int) -> Int64 in
        place * 3 + Int64((bits >> (11 - digit)) & 1) + 1
      }
      return try text(ofMinute: place * 81)
    }
    let rows = try rows(of: texts)
    var asked: [[TriePath]] = []
    var loaded = MerkleTrie { paths in
      asked.append(paths)
      return pages(paths, of: rows)
    }
    let pruned = try loaded.pruned()
    #expect(asked.map(\.count) == [1, 16, 256, 512])
    #expect(pruned.count < 300_000)
    let first = try #require(texts.min())
    let device = try naive(texts.filter { $0 != first }).pruned()
    let minute = try #require(device.difference(from: NaiveTrie(JSON.parse(pruned))))
    #expect(try minute <= #require(LogTimestamp(first)).minute)
  }

  @Test(
    arguments: [[0], [120, 0, 0, 0, 0], [0x80, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]] as [[UInt8]])
  func `bytes that are no page are refused`(bytes: [UInt8]) {
    #expect(TriePage(bytes: bytes) == nil)
  }

  @Test(arguments: ["3", "0123", "a", "-1", "0000000000000000000000"])
  func `a text that is no place is refused`(text: String) {
    #expect(TriePath(text) == nil)
  }

  /// The nodes of hash 0 are pruned here, and whole there. After each round both have the same from that minute on, so
  /// the next one is earlier.
  @Test func `devices that exchange what differs end equal, even if hashes cancel out`() throws {
    let seed = SeededGenerator.seed(of: "differences of TrieTests")
    var random = SeededGenerator(seed: seed)
    for round in 0..<1000 {
      // The keys of a device have 16 digits: from 1997 on.
      let span = Int64(900_000_000_000)..<2_500_000_000_000
      let count = Int.random(in: 0...20, using: &random)
      var here = Set((0..<count).map { _ in random.timestamp(in: span) })
      if round.isMultiple(of: 20) {
        here = try cancelling(in: span, &random)
        #expect(try root(Array(here)) == 0)
      }
      var there = here
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        if let first = there.min(), Bool.random(using: &random) { there.remove(first) }
        if Bool.random(using: &random) { there.insert(random.timestamp(in: span)) }
      }
      var last = Int64.max
      while let minute = try difference(of: there, from: here) {
        try #require(minute < last, "seed \(seed)")
        last = minute
        let exchanged = try here.union(there).filter { text in
          try #require(LogTimestamp(text)).minute >= minute
        }
        here.formUnion(exchanged)
        there.formUnion(exchanged)
      }
      #expect(here == there, "seed \(seed)")
    }
  }

  private func difference(of device: Set<String>, from server: Set<String>) throws -> Int64? {
    var trie = try trie(Array(server))
    return try naive(Array(device)).pruned().difference(from: NaiveTrie(JSON.parse(trie.pruned())))
  }

  // MARK: Tries

  private func rows(of texts: [String]) throws -> [TriePath: [UInt8]] {
    Dictionary(uniqueKeysWithValues: try trie(texts).changed.map { ($0.path, $0.page.bytes) })
  }

  private func pages(
    _ paths: [TriePath], of rows: [TriePath: [UInt8]]
  ) -> [TriePath: TriePage] {
    var pages: [TriePath: TriePage] = [:]
    for path in paths { pages[path] = rows[path].flatMap { TriePage(bytes: $0) } }
    return pages
  }

  private func text(ofMinute minute: Int64) throws -> String {
    let text = "\("\(Instant(seconds: minute * 60))".dropLast()).000Z-0000-0123456789abcdef"
    return try #require(LogTimestamp(text)).description
  }

  private func trie(_ texts: [String]) throws -> MerkleTrie {
    var trie = MerkleTrie()
    try trie.add(texts.map { try #require(LogTimestamp($0)) })
    return trie
  }

  private func root(_ texts: [String]) throws -> Int32 {
    var trie = try trie(texts)
    return try trie.root()
  }

  private func hash(_ text: String) throws -> Int32 { try root([text]) }

  private func naive(_ texts: [String]) throws -> NaiveTrie {
    let naive = NaiveTrie()
    for text in texts {
      let minute = try #require(LogTimestamp(text)).minute
      naive.add(try hash(text), at: Array(String(minute, radix: 3).utf8))
    }
    return naive
  }

  /// The JSON of a node and everything below it, by its children.
  private func whole(_ trie: inout MerkleTrie, at path: String, hash: Int32? = nil) throws -> String
  {
    let children = try trie.children(of: #require(TriePath(path)))
    guard !children.isEmpty || hash != nil else { return "{}" }
    var text = "{\"hash\":\(try hash ?? trie.root())"
    for (digit, hash) in children {
      text += ",\"\(digit)\":\(try whole(&trie, at: path + String(digit), hash: hash))"
    }
    return text + "}"
  }

  /// Timestamps whose hashes add up to 0: some of 33 always do (Gaussian elimination).
  private func cancelling(
    in span: Range<Int64>, _ random: inout SeededGenerator
  ) throws -> Set<String> {
    var basis: [(hash: UInt32, texts: Set<String>)] = []
    while true {
      let text = random.timestamp(in: span)
      var sum = (hash: UInt32(bitPattern: try hash(text)), texts: Set([text]))
      for one in basis where sum.hash ^ one.hash < sum.hash {
        sum = (sum.hash ^ one.hash, sum.texts.symmetricDifference(one.texts))
      }
      if sum.hash == 0 { return sum.texts }
      basis.append(sum)
      basis.sort { $0.hash > $1.hash }
    }
  }
}

extension SeededGenerator {
  /// A few timestamps: of some minutes, of some years, or of all times.
  mutating func log() -> [String] {
    let spans: [Range<Int64>] = [
      0..<600_000, 1_780_000_000_000..<1_780_000_600_000, 1_500_000_000_000..<1_800_000_000_000,
      0..<253_402_300_800_000,
    ]
    let span = spans[Int.random(in: spans.indices, using: &self)]
    let count = Int.random(in: 0...12, using: &self)
    return Array(Set((0..<count).map { _ in timestamp(in: span) }))
  }
}
