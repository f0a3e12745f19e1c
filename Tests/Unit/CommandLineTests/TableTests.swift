import Base
import SeededRandom
import Testing

@testable import CommandLine

struct TableTests {
  private static let alignments: [Table.Alignment] = [.left, .right, .folded]

  /// Up to five columns; the last one may hold sentences.
  private static func table(_ random: inout SeededGenerator) -> (Table, cells: [String]) {
    let count = Int.random(in: 1...5, using: &random)
    var columns = (0..<count).map { number in
      (title: "COLUMN \(number)", alignment: alignments.randomElement(using: &random)!)
    }
    if Bool.random(using: &random) { columns[count - 1].alignment = .wrapped }
    var table = Table(columns: columns)
    var all: [String] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let cells = columns.map { column in
        let length = Int.random(in: 1...60, using: &random)
        return column.alignment == .wrapped
          ? Array(repeating: "word", count: length / 5 + 1).joined(separator: " ")
          : String(repeating: "x", count: column.alignment == .right ? length % 12 + 1 : length)
      }
      table.add(cells: cells)
      all += cells
    }
    return (table, all)
  }

  @Test(arguments: 1...300)
  func `no line is wider than there is room`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let width = Int.random(in: 40...200, using: &random)
    let (table, _) = Self.table(&random)
    for line in table.text(width: width).split(separator: "\n") {
      #expect(line.count <= width, "\(line)")
    }
  }

  @Test(arguments: 1...100)
  func `where there is no terminal, every cell is whole`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let (table, cells) = Self.table(&random)
    let text = table.text(width: .max)
    for cell in cells { #expect(text.contains(cell)) }
  }

  @Test func `an id keeps its ends`() {
    #expect(Folded.text("sub_1fdu3tLk4QzTmRvXcE0wXLcG", to: 13) == "sub_1fdu…XLcG")
    #expect(Folded.text("short", to: 13) == "short")
  }
}

struct StatedTimeTests {
  @Test(arguments: [
    "2026-13-01", "2 h", "h", "1234567d", "-1", "", "253402300800", "365001d", "+999999w",
  ])
  func `what is no time is none`(text: String) {
    #expect(StatedTime(text) == nil)
  }

  @Test func `a span alone has passed, unless it is to come`() {
    #expect(StatedTime("2h") == .fromNow(.seconds(-7200)))
    #expect(StatedTime("+2h") == .fromNow(.seconds(7200)))
    #expect(StatedTime("+365000d") == .fromNow(.seconds(365_000 * 86_400)))
    #expect(StatedTime("2h", spanIsToCome: true) == .fromNow(.seconds(7200)))
  }
}
