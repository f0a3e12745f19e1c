import Base
import Crypto
import Glibc
import Goldens
import Objects
import Storage
import TestEngines
import TestFiles
import Testing

/// The doctor's findings in an installation without faults, and in one with a single fault.
struct DoctorTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"
  private static let object = Identifier(high: 0xABCD_0000_0000_4000, low: 0x8000_0000_0000_0007)

  private static let history = Identifier(high: 3, low: 3)

  private let scratch: ScratchDirectory
  let environment: [String: String]
  private let objects: any ObjectStore

  /// Creates Ada's account, with a document whose object exists. Rows use a virtual time, files do not.
  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_OBJECTS": "file://\(scratch.path)/objects",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    ]
    try Files.write("\(Self.now.milliseconds)\n", to: scratch.path + "/clock")
    objects = try DirectoryStore(directory: scratch.path + "/objects")
    try Self.store(Self.object, in: objects)
    try createAccounts(["ada": Self.account], in: scratch)
    let account = SQLValue.id(try #require(Identifier(Self.account)))
    try write(
      "UPDATE sync.accounts SET seq = 2, usage_bytes = 22000, record_count = 2 WHERE id = $1",
      account)
    try write(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, name, name_hmac, height, seq, content_version,
         content_bytes, object_id, deleted)
      SELECT $2, $1, root_id, 'document', $2, $2, 0, 2, 2, 20000, $3, 0 FROM sync.accounts
      """, account, .id(Identifier(high: 1, low: 2)), .id(Self.object))
    try sign(Identifier(high: 1, low: 2))
    try write(
      """
      INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
      VALUES ($1, 2, 21000, 'content_changed', $1, 0)
      """, account)
    try write("UPDATE sync.files SET height = 1 WHERE kind = 'folder'")
    try write(
      "INSERT INTO sync.history (id, history_id, cursor_key) VALUES (1, $1, $1)",
      .id(Self.history))
    try objects.belong(to: Self.history)
    try age("history")
  }

  /// Signs a document in the root with the key that was made for Ada. Its id stands for its name and its key.
  private func sign(_ file: Identifier) throws {
    let text = try #require(Files.text(scratch.path + "/ada.key"))
    let seed = try #require(Base64.standard.decode(String(text.dropLast())))
    let key = try #require(Ed25519PrivateKey(seed: Secret(seed)))
    let database = try Database.open(
      .sqlite(directory: scratch.path + "/database"), owning: .sync)
    let found = try database.read { reader in
      try reader.first("SELECT root_id FROM sync.accounts") { row in try row.id(0) }
    }
    database.close()
    let root = try #require(found)
    let bytes = Base64.standard.encode(file.bytes)
    let record =
      #"{"deleted":false,"id":"\#(file)","key":"\#(bytes)","name":{"ciphertext":"\#(bytes)","#
      + #""hmac":"\#(bytes)"},"owner":"\#(Self.account)","parent":"\#(root)","#
      + #""type":"document"}"#
    try write(
      "UPDATE sync.files SET file_key = id, author_key = $2, signature = $3 WHERE id = $1",
      .id(file), .blob(key.publicKey.bytes),
      .blob(key.signature(for: Array(#"{"file":\#(record)}"#.utf8))))
  }

  private static func store(_ key: Identifier, in objects: any ObjectStore) throws {
    let writer = try objects.create(key)
    let bytes = [UInt8](repeating: 1, count: 20_000)
    try unsafe writer.write(bytes.span.bytes)
    try writer.finish()
  }

  private func write(
    _ sql: String, _ values: SQLValue..., owning schema: Schema = .sync
  ) throws {
    try scratch.change(schema) { _ = try $0.execute(sql, values: values) }
  }

  /// The line of one check, and the command's exit code.
  private func line(_ name: String, _ words: String...) throws -> (code: Int32, text: String) {
    let finished = try Finished(["doctor"] + words, environment: environment)
    let line = finished.out.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
    return (finished.code, line.map(String.init) ?? "\(finished.out)\(finished.errors)")
  }

  @Test func `an installation that is whole passes every check`() throws {
    let found = try coffer("doctor", "--all", "--objects", "--deep", "--json")
    #expect(found.code == 0, "\(found.out)")
    #expect(found.errors == "")
    // The free space depends on the machine.
    let checks = found.out.split(separator: "{").map { "{\($0)\n" }
      .filter { !$0.contains(#""name":"disk""#) }
    try expectGolden(checks.joined(), "doctor-json")
  }

  @Test func `without options it looks at samples and says what it left out`() throws {
    #expect(try line("orphans").text.contains("skipped"))
    #expect(try line("integrity").text.contains("skipped"))
    #expect(try line("stores").code == 0)
    #expect(try line("stores", "--online").text.contains("no store's API is configured"))
  }

  @Test func `a store whose disk is away is said to be away, not to have no name`() throws {
    Files.removeAll(scratch.path + "/objects")
    let found = try coffer("doctor").out
    #expect(found.contains("there is no object store in \(scratch.path)/objects"), "\(found)")
    #expect(found.contains("there is no object store to check"), "\(found)")
    #expect(found.contains("\nobject store: mount its disk, or give this command"), "\(found)")
    #expect(!found.contains("COFFER_OBJECTS is not set here"), "\(found)")
  }

  @Test func `a wrong charge fails until it is corrected`() throws {
    try write("UPDATE sync.accounts SET usage_bytes = usage_bytes + 5")
    let found = try line("usage", "--all")
    #expect(found.code == 1)
    #expect(
      found.text.hasSuffix("1 of 1 account charged wrongly, the first is \(Self.account)"))
    #expect(try line("usage", "--all", "--fix").code == 0)
    #expect(try line("usage", "--all").text.contains("ok"))
  }

  @Test func `what others may read is closed to them`() throws {
    let path = scratch.path + "/database/sync.db"
    #expect(unsafe chmod(path, 0o644) == 0)
    #expect(try line("permissions").text.contains("warning"))
    let fixed = try line("permissions", "--fix").text
    #expect(fixed.contains("ok") && fixed.contains("closed to others: \(path)"), "\(fixed)")
    #expect(Files.permissions(path) == 0o600)
  }

  @Test(arguments: ["COFFER_APPLE_KEY_FILE", "COFFER_GOOGLE_SERVICE_ACCOUNT_FILE"])
  func `a store's key that others may read is told, and closed to them`(setting: String) throws {
    let path = scratch.path + "/key"
    try Files.write("a key", to: path)
    #expect(unsafe chmod(path, 0o644) == 0)
    func permissions(_ words: String...) throws -> String? {
      let out = try Finished(
        ["doctor"] + words, environment: environment.merging([setting: path]) { $1 }
      ).out
      return out.split(separator: "\n").first { $0.hasPrefix("permissions ") }.map(String.init)
    }
    #expect(try permissions()?.contains("warning  open to others: \(path)") == true)
    #expect(try permissions("--fix")?.contains("ok       closed to others: \(path)") == true)
    #expect(try permissions()?.contains("only their owner") == true)
  }

  @Test func `what was put right is in the audit log, and nothing where nothing was`() throws {
    #expect(try coffer("doctor", "--fix").code == 0)
    #expect(try coffer("audit", "list", "--json").out.contains("doctor") == false)
    try write("UPDATE sync.accounts SET usage_bytes = usage_bytes + 5")
    let fixed = try coffer("doctor", "--fix", "--json")
    #expect(fixed.out.contains(#""text":"1 of 1 account of a sample put right""#), "\(fixed.out)")
    let entries = try coffer("audit", "list", "--json").out
    #expect(entries.contains("doctor"))
    #expect(!entries.contains("permissions"))
  }

  @Test func `a sample of few is all of them, wherever it begins`() throws {
    try write("UPDATE sync.accounts SET usage_bytes = usage_bytes + 5")
    try objects.delete(Self.object)
    for _ in 1...4 {
      #expect(try line("usage").text.contains("failed"))
      #expect(try line("objects").text.contains("failed"))
    }
  }

  @Test func `a missing object is listed with what has it`() throws {
    try objects.delete(Self.object)
    let text = try line("objects").text
    #expect(text.hasSuffix("the first is \(Self.object) of a file"), "\(text)")
    let listed = try coffer("doctor", "--json").out
    #expect(listed.contains(#""missing":[{"kind":"file","id":"\#(Self.object)"}]"#), "\(listed)")
  }

  @Test func `where nothing is to be looked at, nothing is said to be right`() throws {
    Files.removeAll(scratch.path + "/database")
    _ = try coffer("migrate")
    let found = try coffer("doctor", "--all", "--objects").out.split(separator: "\n")
    for name in ["usage", "objects", "drift", "owners"] {
      #expect(found.contains { $0.hasPrefix("\(name) ") && $0.contains("skipped") }, "\(found)")
    }
  }

  @Test(arguments: ["sync", "billing"])
  func `half a database is a finding with its remedy`(half: String) throws {
    #expect(Files.remove("\(scratch.path)/database/\(half).db"))
    let found = try coffer("doctor", "--json")
    #expect(found.code == 1)
    #expect(found.out.contains("is lost: \(half) is missing or empty"), "\(found.out)")
    #expect(found.out.contains(#""remedy":"restore both from one backup""#), "\(found.out)")
  }

  @Test func `accounts without a trace of billing are a warning, until it has started`() throws {
    let found = try line("owners")
    #expect(found.code == 0)
    #expect(
      found.text.hasSuffix("warning  there are accounts, but coffer-billing has never run here"))
    try write(
      """
      INSERT INTO billing.rules_in_force
        (id, number, digest, catalogue, content, applied, since_ms)
      VALUES (1, 1, '{}', '{}', '{}', 1, 0)
      """, owning: .billing)
    #expect(try line("owners").text.contains("skipped  billing has granted nothing"))
  }

  /// Adds an entitlement of an account to billing's schema.
  private func owe(_ account: Identifier) throws {
    try scratch.change(.billing) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, 5, 'premium', 'granted')
        """, .id(account))
    }
  }

  private static func stranger(_ number: UInt64) -> Identifier {
    Identifier(high: 9, low: number)
  }

  @Test func `few owners whom sync does not know are strays, not another installation's`() throws {
    for number in 1...9 as ClosedRange<UInt64> { try owe(Self.stranger(number)) }
    let strays = try Finished(["doctor", "--json"], environment: environment).out
    let check = strays.split(separator: "{").first { $0.hasPrefix(#""name":"owners""#) } ?? ""
    #expect(check.contains(#""state":"warning""#), "\(strays)")
    #expect(check.contains("unknown_account"), "\(strays)")
  }

  @Test func `two halves of different installations are told from a stray owner`() throws {
    for number in 1...10 as ClosedRange<UInt64> { try owe(Self.stranger(number)) }
    let none = try line("owners")
    #expect(none.code == 1 && none.text.contains("failed"), "\(none.text)")
    try owe(try #require(Identifier(Self.account)))
    let stray = try line("owners", "--all")
    #expect(stray.text.contains("warning"), "\(stray.text)")
    #expect(
      stray.text.hasSuffix(
        "10 of 11 accounts with entitlements, the first is \(Self.stranger(1))"))
  }

  @Test func `a strange directory among the objects keeps nobody from the rest`() throws {
    let (old, strange) = (Identifier(high: 5, low: 5), Identifier(high: 5, low: 6))
    try Self.store(old, in: objects)
    try age(old)
    try Files.createFolder("\(scratch.path)/objects/00/00/\(strange)")
    try age(strange)
    #expect(try line("orphans", "--objects", "--fix").text.hasSuffix(", deleted"))
    #expect(try objects.open(old) == nil)
  }

  /// Writes a document with five bytes of small content.
  private func writeSmall() throws {
    let account = SQLValue.id(try #require(Identifier(Self.account)))
    let file = SQLValue.id(Identifier(high: 1, low: 3))
    try write(
      """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, name, name_hmac, height, seq, content_version,
         content_bytes, deleted)
      SELECT $2, $1, root_id, 'document', $2, $2, 0, 3, 3, 5, 0 FROM sync.accounts
      """, account, file)
    try write(
      "INSERT INTO sync.inline_contents (file_id, bytes) VALUES ($1, $2)", file,
      .blob([1, 2, 3, 4, 5]))
  }

  @Test(arguments: [
    "DELETE FROM sync.inline_contents", "UPDATE sync.inline_contents SET bytes = x'00'",
  ])
  func `a small content that is gone, or was cut, fails`(change: String) throws {
    try writeSmall()
    let whole = "ok       present, with the recorded length: 1 small content"
    #expect(try line("contents", "--objects").text.hasSuffix(whole))
    #expect(try line("contents").text.hasSuffix("\(whole) of a sample"))
    try write(change)
    for words in [[], ["--objects"]] {
      let found = try Finished(["doctor"] + words, environment: environment)
      #expect(found.code == 1)
      #expect(
        found.out.contains("the first is of the document \(Identifier(high: 1, low: 3))"),
        "\(found.out)")
    }
  }

  @Test func `repairs that cannot be recorded are reported all the same`() throws {
    try write(
      """
      CREATE TRIGGER sync.full BEFORE INSERT ON audit
      BEGIN SELECT RAISE(ABORT, 'there is no room'); END
      """)
    let path = scratch.path + "/database/sync.db"
    #expect(unsafe chmod(path, 0o644) == 0)
    #expect(try line("permissions", "--fix").text.contains("closed to others: \(path)"))
    #expect(unsafe chmod(path, 0o644) == 0)
    let noted = try line("audit", "--fix")
    #expect(noted.code == 1)
    #expect(noted.text.contains("failed   repairs could not be recorded: "), "\(noted.text)")
  }

  @Test func `a table that is gone fails`() throws {
    try write("DROP TABLE billing.attention", owning: .billing)
    let found = try line("schema")
    #expect(found.code == 1)
    #expect(found.text.hasSuffix("failed   gone: the table billing.attention"))
  }

  @Test func `an object that is gone fails`() throws {
    try objects.delete(Self.object)
    let found = try line("objects", "--objects")
    #expect(found.code == 1)
    let end = "1 object that documents need, the first is \(Self.object) of a file"
    #expect(found.text.hasSuffix(end))
  }

  @Test func `an old object of nobody is told, and kept while a backup runs`() throws {
    let old = Identifier(high: 5, low: 5)
    try Self.store(old, in: objects)
    try age(old)
    let found = try line("orphans", "--objects")
    #expect(found.text.hasSuffix("no row names 1 object (20 kB)"))
    let hold = try objects.hold()
    let kept = try line("orphans", "--objects", "--fix")
    #expect(kept.text.hasSuffix("no row names 1 object (20 kB): kept while a backup runs"))
    #expect(try objects.open(old) != nil, "a backup is under way")
    withExtendedLifetime(hold) {}
  }

  @Test func `an old object of nobody is deleted, a young one is left`() throws {
    let (old, young) = (Identifier(high: 5, low: 5), Identifier(high: 6, low: 6))
    try Self.store(old, in: objects)
    try Self.store(young, in: objects)
    try age(old)
    let fixed = try line("orphans", "--objects", "--fix")
    #expect(fixed.text.hasSuffix("unreferenced: 1 object (20 kB), deleted"))
    #expect(try objects.open(old) == nil)
    #expect(try objects.open(young) != nil)
  }

  @Test(arguments: [["--objects"], ["--objects", "--fix"]])
  func `a database on whose store another one's server started deletes nothing of it`(
    words: [String]
  ) throws {
    try age(Self.object)
    let other = environment.merging(["COFFER_DATABASE": "sqlite://\(scratch.path)/other"]) { $1 }
    #expect(try Finished(["migrate"], environment: other).code == 0)
    let found = try Finished(["doctor"] + words, environment: other)
    #expect(found.code == 1)
    #expect(
      found.out.contains(
        "failed   unreferenced: 1 object (20 kB), kept, because coffer-sync of another database, or of "
          + "another state of it, started on this store"), "\(found.out)")
    #expect(!found.out.contains("--fix"))
    #expect(try objects.open(Self.object) != nil)
  }

  @Test func `a store on which no server has started loses nothing`() throws {
    #expect(Files.remove("\(scratch.path)/objects/history"))
    let old = Identifier(high: 5, low: 5)
    try Self.store(old, in: objects)
    try age(old)
    let kept = try line("orphans", "--objects", "--fix")
    #expect(kept.code == 0)
    #expect(
      kept.text.hasSuffix(
        "warning  unreferenced: 1 object (20 kB), kept, because coffer-sync of this database has not "
          + "started on this store"), "\(kept.text)")
    #expect(try objects.open(old) != nil)
  }

  @Test func `a store that is this database's for less than a day loses nothing`() throws {
    try objects.belong(to: Identifier(high: 4, low: 4))
    try objects.belong(to: Self.history)
    let old = Identifier(high: 5, low: 5)
    try Self.store(old, in: objects)
    try age(old)
    let kept = try line("orphans", "--objects", "--fix").text
    #expect(kept.hasSuffix("this database started on this store less than a day ago"), "\(kept)")
    #expect(try objects.open(old) != nil)
  }

  /// Makes an object look as if it had been written years ago.
  private func age(_ key: Identifier) throws {
    let digits = "\(key)"
    try age("\(digits.prefix(2))/\(digits.dropFirst(2).prefix(2))/\(key)")
  }

  private func age(_ name: String) throws {
    try #require(Files.age("\(scratch.path)/objects/\(name)"))
  }

  @Test func `rows that are yet to come fail the clock`() throws {
    try write(
      "UPDATE sync.accounts SET created_ms = $1", .instant(Self.now + .minutes(10)))
    let found = try line("clock")
    #expect(found.code == 1)
    #expect(found.text.hasSuffix("the newest row is from the future: 2026-03-02T10:05:00Z"))
  }

  @Test func `a damaged file is found by reading it whole`() throws {
    let path = scratch.path + "/database/sync.db"
    var bytes = try #require(Files.bytes(path))
    // Damages the last page's header: this kind of page does not exist.
    bytes[bytes.count - 4096] = 77
    try Files.write(bytes, to: path)
    #expect(try line("integrity", "--deep").code == 1)
  }

  /// Writes three deliveries sealed by the second key, then four by the first, a minute apart. Two are
  /// erased.
  private func seal() throws {
    let (new, old) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    let database = try scratch.database(of: .billing)
    defer { database.close() }
    for number in 1...7 as ClosedRange<Int64> {
      let kept = try SealingKeys([Secret(number <= 3 ? old : new)]).seal([1], context: [])
      let sealed = [5, 7].contains(number) ? [] : kept
      try database.write(for: nil) { transaction in
        _ = try transaction.execute(
          """
          INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
            received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
          VALUES ($1, 'stripe', 'live', 'evt', $2, 'invoice.paid', $3, 3, 'recorded', 0, 0, $4)
          """, .integer(number), .blob([UInt8(number)]),
          .instant(Instant(seconds: 1_772_440_000) + .minutes(number)), .blob(sealed))
      }
    }
  }

  @Test func `since when the first key seals is found among what it sealed`() throws {
    try seal()
    func found(_ keys: [UInt8]...) throws -> String {
      var environment = environment
      environment["COFFER_SEALING_KEYS"] =
        keys.map { Base64.standard.encode($0) }.joined(separator: ",")
      let out = try Finished(["doctor"], environment: environment).out
      return String(out.split(separator: "\n").first { $0.hasPrefix("keys ") } ?? "")
    }
    let (new, old) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    let unused = [UInt8](repeating: 3, count: 32)
    #expect(
      try found(new, old).hasSuffix("the first sealing key seals since 2026-03-02T08:30:40Z"))
    #expect(try found(unused, new).hasSuffix("the first sealing key has sealed nothing yet"))
    #expect(try found(old).contains("failed"))
  }

  @Test func `for an old key the advice of the manual is given, step by step`() throws {
    try seal()
    try Files.write("\(Int64(1_772_440_000_000 + 400 * 86_400_000))\n", to: scratch.path + "/clock")
    var environment = environment
    environment["COFFER_SEALING_KEYS"] = Base64.standard.encode([UInt8](repeating: 1, count: 32))
    let out = try Finished(["doctor"], environment: environment).out
    let advice = try #require(out.split(separator: "\n").first { $0.hasPrefix("keys: ") })
    let manual = try #require(Files.text("\(Files.repository)/docs/cookbook.md"))
    let block = try #require(
      manual.split(separator: "<!-- sealing key rotation -->\n").last?
        .split(separator: "<!-- end -->").first)
    let steps = block.split(separator: "\n").map { $0.dropFirst("1. A".count).dropLast() }
    #expect(steps.count == 4)
    var rest = advice
    for step in steps {
      let place = try #require(rest.firstRange(of: step), "\(step) is not in its place: \(advice)")
      rest = rest[place.upperBound...]
    }
  }

  @Test func `a database that is not there is a finding`() throws {
    Files.removeAll(scratch.path + "/database")
    let found = try coffer("doctor", "--json")
    #expect(found.code == 1)
    #expect(found.out.contains(#""remedy":"coffer migrate makes one""#), "\(found.out)")
  }
}
