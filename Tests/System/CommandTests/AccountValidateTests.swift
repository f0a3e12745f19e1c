import Base
import Goldens
import Storage
import TestEngines
import TestFiles
import Testing

struct AccountValidateTests {
  private static let ids = [
    "0b5c0a2e-0000-4000-8000-000000000001", "0b5c0a2e-0000-4000-8000-000000000002",
  ]

  /// Ada and Bob, who keep nothing yet.
  private struct Scene: CommandSuite {
    private let scratch: ScratchDatabase
    let environment: [String: String]

    init(_ engine: TestEngine) throws {
      scratch = try ScratchDatabase(engine, with: .schemas)
      let location =
        switch scratch.location {
        case .sqlite(let directory): "sqlite://\(directory)"
        case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
        }
      environment = ["COFFER_DATABASE": location]
      try createAccounts(
        ["ada": AccountValidateTests.ids[0], "bob": AccountValidateTests.ids[1]],
        in: scratch.directory)
    }

    /// Totals of documents without documents, and a chain without blocks.
    func damageBob() throws {
      let database = try Database.open(scratch.location, owning: .sync)
      defer { database.close() }
      try database.write(for: nil) { transaction in
        let bob = SQLValue.id(Identifier(high: 0x0b5c_0a2e_0000_4000, low: 0x8000_0000_0000_0002))
        let chain = Identifier(high: 0x0b5c_0a2e_0000_4000, low: 0x8000_0000_0000_0003)
        try transaction.execute(
          """
          INSERT INTO sync.document_totals (account_id, seq, record_count, bytes)
          VALUES ($1, 1, 1, 0)
          """, bob)
        try transaction.execute(
          """
          INSERT INTO sync.chains (id, owner_id, own, head_epoch, head_hash, member_count, bytes,
            created_ms)
          VALUES ($2, $1, 0, 0, $3, 1, 0, 0)
          """, bob, .id(chain), .blob([UInt8](repeating: 0, count: 32)))
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `an account that keeps every rule is code 0`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    try scene.damageBob()
    let finished = try scene.coffer("account", "validate", "ada")
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(finished.out == "1 account, 0 faults\n")
  }

  @Test(arguments: TestEngine.available)
  func `the faults of each protocol are listed`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    try scene.damageBob()
    let finished = try scene.coffer("account", "validate", "bob")
    #expect(finished.code == 1, "\(finished.errors)")
    #expect(finished.out.hasSuffix("\n1 account, 2 faults\n"), "\(finished.out)")
    let all = try scene.coffer("account", "validate", "--all")
    #expect(all.code == 1)
    try expectGolden(all.out, "account-validate")
    try expectGolden(
      try scene.coffer("account", "validate", "--all", "--json").out, "account-validate-json")
  }

  @Test func `an interrupted run goes on behind an account`() throws {
    let scene = try Scene(.sqlite)
    #expect(
      try scene.coffer("account", "validate", "--all", "--after", Self.ids[1]).out
        == "0 accounts, 0 faults\n")
  }

  @Test(arguments: [["ada", "--all"], []])
  func `one account is validated, or all`(words: [String]) throws {
    let scratch = try ScratchDirectory()
    let finished = try Finished(
      ["account", "validate"] + words, environment: ["COFFER_DATABASE": "sqlite://\(scratch.path)"])
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }
}
