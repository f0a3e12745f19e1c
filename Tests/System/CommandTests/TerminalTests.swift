import Base
import Storage
import TestEngines
import Testing

/// The output for a person at a terminal, simulated with script(1) of Debian's bsdutils.
struct TerminalTests {
  private let scratch: ScratchDirectory
  private let environment: [String: String]

  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database", "TERM": "xterm"]
    _ = try Finished(["migrate"], environment: environment)
    let create = ["account", "create", "--username", "ada", "--key-file", scratch.path + "/key"]
    _ = try Finished(create, environment: environment)
  }

  private func typed(_ line: String, with more: [String: String] = [:]) throws -> String {
    let finished = try Finished(
      path: "/usr/bin/script", ["-qec", "\(Binaries.directory)/coffer \(line)", "/dev/null"],
      environment: environment.merging(more) { $1 })
    return finished.out.replacing("\r\n", with: "\n")
  }

  @Test func `titles stand out and times are told from now`() throws {
    let lines = try typed("account list").split(separator: "\n")
    #expect(lines.first?.hasPrefix("\u{1B}[1mACCOUNT") == true)
    #expect(lines.last?.hasSuffix(" s ago") == true)
  }

  @Test(arguments: ["audit list", "entitlement explain ada", "find ada", "usage show ada"])
  func `every table tells times from now`(line: String) throws {
    let grant = ["entitlement", "grant", "ada", "--plan", "premium", "--reason", "n", "--yes"]
    #expect(try Finished(grant, environment: environment).code == 0)
    let shown = try typed(line)
    #expect(shown.contains(" s ago"), "\(shown)")
  }

  @Test(arguments: [45, 50, 80, 130])
  func `a line of progress is no wider than the terminal, and has the place`(width: Int) throws {
    try scratch.change(.sync) { transaction in
      for number in 1...4000 {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, .id(Identifier(high: 1, low: UInt64(number))))
      }
    }
    let finished = try Finished(
      path: "/usr/bin/script",
      [
        "-qec", "stty cols \(width); \(Binaries.directory)/coffer tree validate --all >/dev/null",
        "/dev/null",
      ], environment: environment)
    let lines = finished.out.split(separator: "\r").filter { $0.contains("at 0") }
    #expect(!lines.isEmpty, "\(finished.out)")
    for line in lines {
      let shown = line.replacing("\u{1B}[K", with: "")
      #expect(shown.count < width, "\(line)")
      #expect(shown.contains(#/at [0-9a-f-]{36}$/#), "\(line)")
    }
  }

  @Test(arguments: [80, 120])
  func `no line of a table is wider than the terminal`(width: Int) throws {
    for line in [
      "account list", "attention", "audit list", "find ada", "entitlement explain ada",
      "account show ada", "usage show ada", "plan list", "config",
    ] {
      let finished = try Finished(
        path: "/usr/bin/script",
        ["-qec", "stty cols \(width); \(Binaries.directory)/coffer \(line)", "/dev/null"],
        environment: environment.merging(["NO_COLOR": "1"]) { $1 })
      for shown in finished.out.replacing("\r\n", with: "\n").split(separator: "\n") {
        #expect(shown.count <= width, "\(line): \(shown)")
      }
    }
  }

  @Test(arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
  func `who wants no colour gets none`(wish: [String: String]) throws {
    let list = try typed("account list", with: wish)
    #expect(!list.contains("\u{1B}"))
    #expect(list.contains("ACCOUNT"))
  }

  @Test func `what goes into a file has neither`() throws {
    let list = try Finished(["account", "list"], environment: environment).out
    #expect(!list.contains("\u{1B}"))
    #expect(list.hasSuffix("Z\n"))
  }

  @Test func `JSON is the same on a terminal`() throws {
    let list = try Finished(["account", "list", "--json"], environment: environment).out
    #expect(try typed("account list --json") == list)
  }
}
