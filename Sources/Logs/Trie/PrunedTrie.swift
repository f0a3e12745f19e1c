/// A trie with only the two highest children of each node, in Actual's JSON.
///
/// Its pages are loaded by levels, in as many statements as a minute has pages, however many minutes have messages.
struct PrunedTrie {
  /// A page, and the sums of its nodes.
  private struct Page {
    let path: TriePath
    let page: TriePage
    let sums: [Int32?]

    init(_ path: TriePath, _ page: TriePage) {
      (self.path, self.page, sums) = (path, page, page.sums)
    }

    func below(_ node: Int) -> TriePath? {
      page.goesOn(below: node) ? TriePath(path.digits + TriePage.digits(of: node)) : nil
    }

    /// The digits of the children of a node, of which two at most exist.
    func digits(below node: Int) -> Range<Int> {
      let first = 3 * node + 1
      let areAll = sums[first] != nil && sums[first + 1] != nil && sums[first + 2] != nil
      return (areAll ? 1 : 0)..<3
    }

    /// The pages below the nodes of the pruned trie, in the order of their places.
    var pagesBelow: [TriePath] {
      // The pages of the last level, of which there are the most.
      guard page.goesOn else { return [] }
      var nodes = [0]
      for _ in 0..<TriePage.depth {
        nodes = nodes.flatMap { node in
          digits(below: node).map { 3 * node + 1 + $0 }.filter { sums[$0] != nil }
        }
      }
      return nodes.compactMap(below)
    }
  }

  /// The most pages of one level, which are those of the latest minutes. A log of a message every minute, for as long
  /// as it may be, has fewer. One who chooses the minutes could have eight times as many.
  private static let pageCountMax = 512
  /// What precedes the hash of a child, by its digit. An answer has a thousand of them.
  private static let openings = (0..<3).map { Array(#","\#($0)":{"hash":"#.utf8) }

  private var pages: [TriePath: Page] = [:]
  private(set) var text: [UInt8] = []

  /// `load` returns a page for each of the places.
  init(load: ([TriePath]) throws -> [TriePage]) throws {
    var paths = [TriePath.root]
    while !paths.isEmpty {
      let level = zip(paths, try load(paths)).map(Page.init)
      for page in level { pages[page.path] = page }
      paths = Array(level.flatMap(\.pagesBelow).suffix(Self.pageCountMax))
    }
    if let root = pages[.root], let hash = root.sums[0] {
      text += #"{"hash":"#.utf8
      write(0, of: root, hash: hash)
    } else {
      text = Array("{}".utf8)
    }
  }

  /// Writes a node from its hash on.
  private mutating func write(_ node: Int, of page: Page, hash: Int32) {
    write(hash)
    if !TriePage.isLast(node) {
      writeChildren(of: node, of: page)
    } else if let path = page.below(node), let below = pages[path] {
      writeChildren(of: 0, of: below)
    }
    text.append(UInt8(ascii: "}"))
  }

  /// Digit by digit: an answer has a thousand hashes, and a text of each would be made only to be copied.
  private mutating func write(_ hash: Int32) {
    if hash < 0 { text.append(UInt8(ascii: "-")) }
    let start = text.count
    var rest = hash.magnitude
    repeat {
      text.append(0)
      rest /= 10
    } while rest > 0
    rest = hash.magnitude
    for index in (start..<text.count).reversed() {
      text[index] = 0x30 + UInt8(rest % 10)
      rest /= 10
    }
  }

  private mutating func writeChildren(of node: Int, of page: Page) {
    for digit in page.digits(below: node) {
      let child = 3 * node + 1 + digit
      guard let hash = page.sums[child] else { continue }
      text += Self.openings[digit]
      write(child, of: page, hash: hash)
    }
  }
}
