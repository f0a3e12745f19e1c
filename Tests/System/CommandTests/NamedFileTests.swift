import Glibc
import TestEngines
import TestFiles
import Testing

/// Files named to commands: paths without a file are refused at once, and the content of a list is bounded.
struct NamedFileTests {
  private let scratch: ScratchDirectory
  private let environment: [String: String]

  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_SYNC_AUTHORITIES": "sync.example.com",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    ]
    #expect(try coffer("migrate").code == 0)
  }

  private func coffer(_ words: String..., settings: [String: String] = [:]) throws -> Finished {
    try coffer(words, settings: settings)
  }

  private func coffer(_ words: [String], settings: [String: String] = [:]) throws -> Finished {
    try Finished(words, environment: environment.merging(settings) { $1 })
  }

  private static let readers: [[String]] = [
    ["import", "FILE"], ["account", "import", "FILE"], ["plan", "diff", "FILE"],
    ["plan", "apply", "FILE", "--reason", "new"], ["webhook", "send", "FILE"],
    ["request", "GET", "/v1/account", "--key-file", "FILE"],
    ["account", "list", "--config", "FILE"],
  ]

  @Test(arguments: readers, ["a pipe", "a device", "a directory"])
  func `what is no file is refused at once by whatever reads one`(
    words: [String], kind: String
  ) throws {
    let path: String
    switch kind {
    case "a pipe":
      path = scratch.path + "/pipe"
      #expect(unsafe mkfifo(path, 0o600) == 0)
    case "a device": path = "/dev/zero"
    default: path = scratch.path
    }
    let refused = try coffer(words.map { $0 == "FILE" ? path : $0 })
    #expect([1, 64, 78].contains(refused.code), "\(refused)")
    #expect(refused.errors.contains("is \(kind), not a file"), "\(refused.errors)")
  }

  @Test(arguments: ["COFFER_PLANS", "COFFER_TEST_CLOCK"])
  func `what is no file is refused where a setting names it`(name: String) throws {
    let path = scratch.path + "/pipe"
    #expect(unsafe mkfifo(path, 0o600) == 0)
    let refused = try coffer(
      "config", "--program", "coffer-billing",
      settings: [name: path, "COFFER_MODE": "test"])
    #expect(
      (refused.out + refused.errors).contains("\"\(path)\" is a pipe, not a file"), "\(refused)")
  }

  @Test func `a field is refused where it grows too long, whatever follows`() throws {
    let path = scratch.path + "/list.csv"
    let long = String(repeating: "x", count: 4097)
    for (text, line) in [
      // The quote is never closed, and the command does not read on to find that out.
      ("account,store,id\r\na,b,\"\(long)", "line 2: a field is longer than 4096 bytes"),
      ("account,store,id\r\na,b,\(long)", "line 2: a field is longer than 4096 bytes"),
      (String(repeating: ",", count: 200), "line 1: it has more than 100 fields"),
    ] {
      try Files.write(text, to: path)
      let refused = try coffer("import", path)
      #expect(refused.code == 1)
      #expect(refused.errors == "coffer: \(path): \(line)\n")
    }
  }

  @Test func `no spreadsheet runs a cell of a report, and read again it is what it was`() throws {
    let names = [
      "=1+1", "+1", "-1", "@sum", "'=1", "''=1", "'plain", "plain", "=a,\"b\"", "a\r", "=\rb",
    ]
    let list = scratch.path + "/list.csv"
    // Written as by another program.
    let rows = names.map { name in
      "\"" + name.replacing("\"", with: "\"\"") + "\",nostore,sub_1\r\n"
    }
    try Files.write("account,store,id\r\n" + rows.joined(), to: list)
    func report(of list: String, _ name: String) throws -> String {
      let path = "\(scratch.path)/\(name)"
      let run = try coffer("import", list, "--yes", "--report", path)
      #expect(run.code == 1, "\(run)")
      return try #require(Files.text(path))
    }
    let first = try report(of: list, "first.csv")
    let lines = first.split(separator: "\r\n")
    #expect(lines.contains { $0.hasPrefix("2,'=1+1,nostore,") })
    #expect(lines.contains { $0.hasPrefix("5,'@sum,nostore,") })
    #expect(lines.contains { $0.hasPrefix("8,'plain,nostore,") })
    #expect(lines.contains { $0.hasPrefix("10,\"'=a,\"\"b\"\"\",nostore,") })
    let second = try report(of: "\(scratch.path)/first.csv", "second.csv")
    #expect(second == first)
  }
}
