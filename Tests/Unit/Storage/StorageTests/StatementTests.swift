import SQLite
import Storage
import Testing

/// A connection keeps its statements by their text.
@Suite struct StatementTests {
  private let connection: SQLiteConnection

  init() throws {
    connection = try SQLiteConnection(file: ":memory:", busyTimeoutMilliseconds: 50)
  }

  private func texts(_ sql: String, row: (String) throws -> Void = { _ in }) throws -> [String] {
    var texts: [String] = []
    _ = try connection.perform(sql, []) { current in
      let text = try current.text(0)
      try row(text)
      texts.append(text)
      return true
    }
    return texts
  }

  @Test func `texts of one length that differ in one byte, wherever, are two statements`() throws {
    // More statements than are kept.
    let plain = [UInt8](repeating: UInt8(ascii: "a"), count: 600)
    for _ in 1...2 {
      for place in plain.indices {
        var letters = plain
        letters[place] = UInt8(ascii: "b")
        let text = String(decoding: letters, as: UTF8.self)
        #expect(try texts("SELECT '\(text)'") == [text])
      }
    }
  }

  @Test func `a statement is prepared once, also where a partial index names what is compared`()
    throws
  {
    try connection.execute("CREATE TABLE sold (id INTEGER PRIMARY KEY, world TEXT NOT NULL)")
    try connection.execute("CREATE INDEX sold_tests ON sold (id) WHERE world = 'sandbox'")
    let sql = "SELECT count(*) FROM sold WHERE world = $1"
    for world in ["live", "sandbox", "live"] {
      _ = try connection.perform(sql, [.text(world)]) { _ in true }
    }
    #expect(try connection.withStatement(sql) { $0.repreparationCount } == 0)
  }

  @Test func `what was left in the middle of its rows begins again from the first`() throws {
    let sql = "SELECT column1 FROM (VALUES ('one'), ('two'), ('three'))"
    for _ in 1...3 {
      #expect(throws: Refusal.self) {
        try texts(sql) { if $0 == "two" { throw Refusal(reason: "enough") } }
      }
      #expect(try texts(sql) == ["one", "two", "three"])
    }
  }

  @Test func `a statement inside its own rows leaves those around it where they were`() throws {
    let sql = "SELECT column1 FROM (VALUES ('one'), ('two'))"
    var inner: [[String]] = []
    for _ in 1...2 {
      #expect(try texts(sql) { _ in inner.append(try texts(sql)) } == ["one", "two"])
    }
    #expect(inner == Array(repeating: ["one", "two"], count: 4))
  }
}
