import Base
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

  @Test(arguments: [["ada", "--all"], []])
  func `trees are validated of one account or of all`(words: [String]) throws {
    let finished = try Finished(["tree", "validate"] + words, environment: environment)
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }
}
