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

  /// Accounts that come before Ada's; none has a root.
  private func addAccounts(_ count: Int) throws {
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: .sync)
    defer { database.close() }
    try database.write(for: nil) { transaction in
      for number in 1...count {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, .id(Identifier(high: 1, low: UInt64(number))))
      }
    }
  }

  /// A minute at most.
  private func wait(until isSo: () -> Bool) {
    for _ in 0..<60_000 {
      if isSo() { return }
      usleep(1000)
    }
  }

  /// Whether a program has SIGINT and SIGTERM wait.
  private func holdsSignals(_ child: pid_t) -> Bool {
    let digits = Files.text("/proc/\(child)/status")?.firstMatch(of: #/SigBlk:\t([0-9a-f]+)/#)
    let held = digits.flatMap { UInt64($0.output.1, radix: 16) } ?? 0
    return [SIGINT, SIGTERM].allSatisfy { held & 1 << (UInt64($0) - 1) != 0 }
  }

  @Test func `what is found is printed at once, and an interrupted run says where to go on`() throws
  {
    let count = 6000
    try addAccounts(count)
    let (out, errors) = (scratch.path + "/out", scratch.path + "/errors")
    let child = try Finished.start(
      Binaries.directory + "/coffer", ["tree", "validate", "--all"], environment, out: out,
      errors: errors)
    wait { Files.text(out)?.contains(" root ") == true }
    #expect(kill(child, SIGTERM) == 0)
    #expect(try Finished.code(of: child) == 128 + SIGTERM)
    let end = try #require(Files.text(out)?.split(separator: "\n").last)
    let done = try #require(
      end.split(separator: " ").first.flatMap { Int($0.replacing(",", with: "")) })
    #expect((1..<count).contains(done), "\(end)")
    let said = try #require(
      Files.text(errors)?.wholeMatch(of: #/coffer: interrupted; --after (\S+) goes on\n/#))
    let rest = try coffer("tree", "validate", "--all", "--after", String(said.output.1), "--json")
    #expect(rest.out.hasPrefix(#"{"accounts":\#(count + Self.ids.count - done),"#), "\(rest.out)")
    #expect(!rest.out.contains("go_on_after"))
  }

  @Test(arguments: [["tree", "validate"], ["usage", "recount"]])
  func `an interrupted run's JSON says where to go on`(words: [String]) throws {
    try addAccounts(6000)
    let out = scratch.path + "/out"
    let child = try Finished.start(
      Binaries.directory + "/coffer", words + ["--all", "--json"], environment, out: out,
      errors: "/dev/null")
    wait { holdsSignals(child) }
    #expect(kill(child, SIGINT) == 0)
    #expect(try Finished.code(of: child) == 128 + SIGINT)
    let json = try #require(Files.text(out))
    #expect(json.contains(#/"go_on_after":"[0-9a-f-]{36}"/#), "\(json)")
  }

  @Test(arguments: [["ada", "--all"], []])
  func `trees are validated of one account or of all`(words: [String]) throws {
    let finished = try Finished(["tree", "validate"] + words, environment: environment)
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }
}
