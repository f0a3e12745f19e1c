import Base
import Crypto
import JSON
import Storage
import TestEngines
import TestFiles
import Testing

/// A key for a user who lost every device: `coffer account add-key`.
struct AddKeyTests: CommandSuite {
  private static let reason = ["--reason", "showed a passport", "--yes"]

  private let database: ScratchDatabase
  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws { try self.init(.sqlite) }

  private init(_ engine: TestEngine) throws {
    database = try ScratchDatabase(engine)
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": database.setting]
    _ = try coffer("migrate")
    for name in ["ada", "bob"] { try create(name) }
  }

  private func create(_ name: String) throws {
    let created = try coffer(
      "account", "create", "--username", name, "--key-file", "\(scratch.path)/\(name).key")
    #expect(created.code == 0, "\(created.errors)")
  }

  private func add(_ key: String, _ words: String...) throws -> Finished {
    try Finished(
      ["account", "add-key", "ada", key] + words + Self.reason, environment: environment)
  }

  private static func fresh() -> String {
    Base64.standard.encode(Ed25519PrivateKey().publicKey.bytes)
  }

  private func keys() throws -> [JSON] {
    let shown = try coffer("account", "show", "ada", "--json").out
    return try JSON.parse(Array(shown.utf8))["devices"].requireArray()
  }

  @Test(arguments: TestEngine.available)
  func `a key is added with its reason in the audit log, and marked`(engine: TestEngine) throws {
    let suite = try AddKeyTests(engine)
    let key = Self.fresh()
    let added = try suite.add(key, "--label", "new phone")
    #expect(added.code == 0, "\(added.errors)")
    #expect(added.out.contains("each page of updates shows it to its 1 other keys"))
    let device = try #require(try suite.keys().last { $0["public_key"].string == key })
    #expect(device["label"].string == "new phone" && device["by_operator"].bool == true)
    let log = try suite.coffer("audit", "list", "--account", "ada", "--json").out
    #expect(log.contains("showed a passport") && log.contains("account add-key"), "\(log)")
  }

  @Test func `without yes nothing is added, and what would be is shown`() throws {
    let shown = try coffer("account", "add-key", "ada", Self.fresh(), "--reason", "x")
    #expect(shown.code == 3)
    #expect(shown.out.contains("keys        1       2"), "\(shown.out)")
    #expect(try keys().count == 1)
  }

  @Test func `a key file gives its public key, and no secret is shown`() throws {
    let key = Ed25519PrivateKey()
    let path = scratch.path + "/new.key"
    let seed = Base64.standard.encode(key.seed.exposed)
    try Files.write(seed + "\n", to: path, isSecret: true)
    let added = try add(path, "--json")
    #expect(added.code == 0, "\(added.errors)")
    #expect(added.out.contains(Base64.standard.encode(key.publicKey.bytes)))
    #expect(!added.out.contains(seed))
  }

  @Test func `a key that is or was somebody's is refused`() throws {
    let again = try add(scratch.path + "/ada.key")
    #expect(again.code == 1)
    let others = try add(scratch.path + "/bob.key")
    #expect(others.code == 1)
    #expect(try keys().count == 1)
  }

  @Test func `an account has 64 keys at a time, whoever adds them`() throws {
    let opened = try Database.open(database.location, owning: .sync)
    try opened.write(for: nil) { transaction in
      for number in 1...63 {
        try transaction.execute(
          """
          INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
          SELECT $1, id, '', 0, 0 FROM sync.accounts WHERE username = 'ada'
          """, .blob([UInt8](repeating: UInt8(number), count: 32)))
      }
    }
    opened.close()
    let refused = try add(Self.fresh())
    #expect(refused.code == 1)
    #expect(refused.errors.contains("64"), "\(refused.errors)")
  }

  @Test func `an account that is to be erased, is being erased or is erased gets no key`() throws {
    let id = try #require(
      try JSON.parse(Array(coffer("account", "show", "ada", "--json").out.utf8))["account"].string)
    func refusal() throws -> String {
      let refused = try Finished(
        ["account", "add-key", id, Self.fresh()] + Self.reason, environment: environment)
      #expect(refused.code == 1)
      return refused.errors
    }
    _ = try Finished(["account", "delete", "ada", "--now"] + Self.reason, environment: environment)
    #expect(try refusal().contains("coffer deletion cancel keeps the account"))
    for (sql, line) in [
      ("UPDATE sync.account_deletions SET begun_ms = 1", "is being erased"),
      ("UPDATE sync.account_deletions SET erased_ms = 1000", "was erased on"),
    ] {
      let opened = try Database.open(database.location, owning: .sync)
      try opened.write(for: nil) { transaction in _ = try transaction.execute(sql) }
      opened.close()
      #expect(try refusal().contains(line))
    }
  }

  @Test(arguments: [
    ("AAAA", 1, "cannot be read"), ("/nowhere/ada.key", 1, "cannot be read"),
    ("/dev/null", 1, "/dev/null"),
  ])
  func `what is no key is refused`(key: String, code: Int32, line: String) throws {
    let refused = try add(key)
    #expect(refused.code == code)
    #expect(refused.errors.contains(line), "\(refused.errors)")
  }
}
