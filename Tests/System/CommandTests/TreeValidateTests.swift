import Base
import Glibc
import Goldens
import Storage
import TestEngines
import TestFiles
import Testing

struct TreeValidateTests: CommandSuite {
  private static let ids = [
    "0b5c0a2e-0000-4000-8000-000000000001", "0b5c0a2e-0000-4000-8000-000000000002",
  ]

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada, who has only a root, and Bob, who has a root and is charged for more.
  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database"]
    try createAccounts(["ada": Self.ids[0], "bob": Self.ids[1]], in: scratch)
    try scratch.change(.sync) {
      _ = try $0.execute("UPDATE sync.accounts SET usage_bytes = 7 WHERE username = 'bob'")
    }
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

  @Test func `without yes what can be repaired is shown, and nothing is changed`() throws {
    let shown = try coffer("tree", "validate", "--all", "--repair")
    #expect(shown.code == 3)
    #expect(shown.out.contains("possible"), "\(shown.out)")
    #expect(shown.errors == "coffer: no changes made; --yes repairs 1 row\n")
    #expect(try coffer("tree", "validate", "--all").code == 1)
  }

  @Test func `what has one right repair is repaired with an entry in the audit log`() throws {
    try scratch.change(.sync) {
      _ = try $0.execute(
        "UPDATE sync.files SET content_bytes = 500 WHERE owner_id = (SELECT id FROM sync.accounts WHERE username = 'ada')"
      )
    }
    let repaired = try coffer(
      "tree", "validate", "--all", "--repair", "--yes", "--reason", "ticket 7", "--json")
    #expect(repaired.code == 0, "\(repaired.out)")
    #expect(repaired.out.contains(#""rule":"content","repair":"done""#), "\(repaired.out)")
    #expect(repaired.out.contains(#""repair":"done""#) && repaired.out.contains(#""repaired":2"#))
    let again = try coffer("tree", "validate", "--all")
    #expect(again.code == 0, "\(again.out)")
    let log = try coffer("audit", "list", "--json").out
    #expect(log.contains("tree validate: content") && log.contains("ticket 7"), "\(log)")
  }

  @Test func `what has no right repair is left and named`() throws {
    try addAccounts(1)
    let left = try coffer("tree", "validate", "--all", "--repair", "--yes")
    #expect(left.code == 1)
    #expect(left.out.contains("root") && left.out.contains("none"), "\(left.out)")
    #expect(left.out.hasSuffix("2 broken rules, 1 repaired\n"), "\(left.out)")
  }

  @Test func `yes and a reason are for a repair`() throws {
    let refused = try coffer("tree", "validate", "ada", "--yes")
    #expect(refused.code == 64)
    #expect(refused.errors == "coffer: --yes and --reason are for --repair\n")
  }

  @Test func `an interrupted run goes on behind an account`() throws {
    #expect(
      try coffer("tree", "validate", "--all", "--after", Self.ids[1]).out
        == "0 accounts, 0 rows, 0 broken rules\n")
  }

  /// Adds accounts that come before Ada's; none has a root.
  private func addAccounts(_ count: Int) throws {
    try scratch.change(.sync) { transaction in
      for number in 1...count {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, .id(Identifier(high: 1, low: UInt64(number))))
      }
    }
  }

  /// Waits for a minute at most.
  private func wait(until isSo: () -> Bool) {
    for _ in 0..<60_000 {
      if isSo() { return }
      usleep(1000)
    }
  }

  /// Whether a program blocks SIGINT and SIGTERM.
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
      Files.text(errors)?.wholeMatch(of: #/coffer: interrupted; continue with --after (\S+)\n/#))
    let rest = try coffer("tree", "validate", "--all", "--after", String(said.output.1), "--json")
    #expect(rest.out.hasPrefix(#"{"accounts":\#(count + Self.ids.count - done),"#), "\(rest.out)")
    #expect(!rest.out.contains("go_on_after"))
  }

  @Test func `the first thousand findings are listed, and all are counted`() throws {
    try addAccounts(1000)
    let found = try coffer("tree", "validate", "--all", "--json").out
    #expect(found.contains(#""broken":1001,"#))
    #expect(found.matches(of: #/"rule":/#).count == 1000)
  }

  @Test(arguments: [["tree", "validate"], ["account", "validate"], ["usage", "recount"]])
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

  @Test(arguments: [["account", "validate"], ["usage", "recount"]])
  func `a run that an account ends prints what it found, and says where to go on`(
    words: [String]
  ) throws {
    try addAccounts(1)
    try scratch.change(.sync) { transaction in
      try transaction.execute("ALTER TABLE sync.document_totals RENAME TO lost_totals")
    }
    let first = Identifier(high: 1, low: 1)
    let ended = try Finished(words + ["--all", "--json"], environment: environment)
    #expect(ended.code == 70, "\(ended.errors)")
    #expect(ended.errors.hasPrefix("coffer: stopped at account \(first): "))
    #expect(ended.out.contains(#""go_on_after":"\#(first)""#), "\(ended.out)")
  }

  @Test(arguments: [["ada", "--all"], []])
  func `trees are validated of one account or of all`(words: [String]) throws {
    let finished = try Finished(["tree", "validate"] + words, environment: environment)
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }
}
