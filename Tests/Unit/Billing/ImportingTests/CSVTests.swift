import SeededRandom
import Testing

@testable import Importing

struct CSVTests {
  private static let pieces = [
    "a", "é", ",", "\"", "\n", "\r\n", "'", "=1+1", "+", "-", "@", "\t", " ",
  ]

  @Test(arguments: 1...200)
  func `what is written as a line is read as it was`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let records = (0..<Int.random(in: 1...5, using: &random)).map { _ in
      // A record of one empty field is a blank line.
      ["x"]
        + (0..<Int.random(in: 0...4, using: &random)).map { _ in
          (0..<Int.random(in: 0...5, using: &random)).map { _ in
            Self.pieces.randomElement(using: &random)!
          }.joined()
        }
    }
    let text = records.map { CSV.line($0) }.joined()
    #expect(try CSV.records(Array(text.utf8), atMost: 5).map(\.fields) == records)
  }

  @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "\t=1"])
  func `no spreadsheet runs what is written`(field: String) {
    #expect(CSV.line([field]).drop { $0 == "\"" }.hasPrefix("'"))
  }

  @Test(arguments: [
    ("a,\"b", "line 1: a quote is never closed"),
    ("a\n\"b\"c", "line 2: something follows a closing quote"),
    ("a,b\"", "line 1: a quote is inside a field that is not quoted"),
    (String(repeating: "a", count: 4097), "line 1: a field is longer than 4096 bytes"),
    ("\"" + String(repeating: "a", count: 4097), "line 1: a field is longer than 4096 bytes"),
    (String(repeating: ",", count: 100), "line 1: it has more than 100 fields"),
    ("a\nb\nc\nd", "it has more than 3 records; divide it"),
  ])
  func `what cannot be read is told by its line`(text: String, problem: String) {
    #expect(throws: ImportProblem(problem)) { try CSV.records(Array(text.utf8), atMost: 3) }
  }
}

struct ImportFileTests {
  private func file(_ text: String) throws(ImportProblem) -> ImportFile {
    try ImportFile(Array(text.utf8))
  }

  @Test func `columns stand in any order, and a report is a list`() throws {
    let rows = try file("line,id,Store ,account,problem\r\n2, sub_1 ,STRIPE,ada,gone\r\n").rows
    let row = try #require(rows.first)
    #expect([row.account, row.store, row.id] == ["ada", "stripe", "sub_1"])
    #expect(row.line == 2)
  }

  @Test(arguments: [
    ("", "it is empty"),
    (
      "account,store",
      "the column id is missing: its first line names the columns account, store and id"
    ),
    (
      "account,store,id,price",
      "there is no column price: its first line names the columns account, store and id"
    ),
    (
      "account,store,id,id",
      "the column id is there twice: its first line names the columns account, store and id"
    ),
    ("account,store,id\nada,stripe", "line 2 has 2 fields, the first 3"),
    ("account,store,id\nada", "line 2 has 1 field, the first 3"),
  ])
  func `what is no list of purchases is refused whole`(text: String, problem: String) {
    #expect(throws: ImportProblem(problem)) { try file(text) }
  }
}
