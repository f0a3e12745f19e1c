import Base
import Glibc
import Goldens
import Storage
import TestEngines
import TestFiles
import Testing

struct TreeValidateTests {
  private static let ids = [
    "0b5c0a2e-0000-4000-8000-000000000001", "0b5c0a2e-0000-4000-8000-000000000002",
  ]

  private let scratch: ScratchDirectory
  private let environment: [String: String]

  /// Ada, who has nothing but a root, and Bob, who has a root and is charged for more.
  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database"]
    _ = try coffer("migrate")
    for (name, id) in zip(["ada", "bob"], Self.ids) {
      let created = try coffer(
        "account", "create", "--username", name, "--id", id, "--key-file",
        "\(scratch.path)/\(name).key")
      #expect(created.code == 0, "\(created.errors)")
    }
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: .sync)
    defer { database.close() }
    try database.write(for: nil) {
      _ = try $0.execute("UPDATE sync.accounts SET usage_bytes = 7 WHERE username = 'bob'")
    }
  }

  private func coffer(_ words: String...) throws -> Finished {
    try Finished(words, environment: environment)
  }

  @Test func `a tree that is whole is code 0`() throws {
    let finished = try coffer("tree", "validate", "ada")
    #expect(finished.code == 0)
    #expect(finished.out == "1 account, 1 rows, 0 broken rules\n")
  }

  @Test func `of all trees the broken rules are listed`() throws {
    let finished = try coffer("tree", "validate", "--all")
    #expect(finished.code == 1)
    try expectGolden(finished.out, "tree-validate")
    try expectGolden(try coffer("tree", "validate", "--all", "--json").out, "tree-validate-json")
  }

  @Test func `an interrupted run goes on behind an account`() throws {
    #expect(
      try coffer("tree", "validate", "--all", "--after", Self.ids[1]).out
        == "0 accounts, 0 rows, 0 broken rules\n")
  }

  @Test func `what is found is printed at once, and an interrupted run says where to go on`() throws
  {
    let count = 6000
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: .sync)
    // None has a root.
    try database.write(for: nil) { transaction in
      for number in 1...count {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, .id(Identifier(high: 1, low: UInt64(number))))
      }
    }
    database.close()
    let (out, errors) = (scratch.path + "/out", scratch.path + "/errors")
    let child = try Finished.start(
      Binaries.directory + "/coffer", ["tree", "validate", "--all"], environment, out: out,
      errors: errors)
    while Files.text(out)?.contains(" root ") != true { usleep(1000) }
    #expect(kill(child, SIGTERM) == 0)
    #expect(try Finished.code(of: child) == 128 + SIGTERM)
    let end = try #require(Files.text(out)?.split(separator: "\n").last)
    let done = try #require(end.split(separator: " ").first.flatMap { Int($0) })
    #expect((1..<count).contains(done), "\(end)")
    let said = try #require(
      Files.text(errors)?.wholeMatch(of: #/coffer: interrupted; --after (\S+) goes on\n/#))
    let rest = try coffer("tree", "validate", "--all", "--after", String(said.output.1), "--json")
    #expect(rest.out.hasPrefix(#"{"accounts":\#(count + Self.ids.count - done),"#), "\(rest.out)")
    #expect(!rest.out.contains("go_on_after"))
  }

  @Test(arguments: [["ada", "--all"], []])
  func `trees are validated of one account or of all`(words: [String]) throws {
    let finished = try Finished(["tree", "validate"] + words, environment: environment)
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }
}
