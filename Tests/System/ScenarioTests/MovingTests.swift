import Archive
import Base
import Configuration
import Crypto
import JSON
import Storage
import StripeSamples
import TestDevices
import TestEngines
import TestFiles
import Testing

/// An account that moves from one Coffer to another in an archive.
@Suite(.serialized) struct MovingTests {
  private let scratch: ScratchDirectory
  private var archive: String { scratch.path + "/ada.tar" }

  init() throws { scratch = try ScratchDirectory() }

  /// An installation in which an account keeps documents, pays, and has a grant.
  private struct House {
    let installation: Installation
    let sync: Server
    let billing: Server
    let writer: KeepingWriter
    let second: TestDevice

    init(_ engine: TestEngine) throws {
      installation = try Installation(engine, settings: MovingTests.settings)
      sync = try installation.start(.sync)
      billing = try installation.start(.billing)
      writer = try KeepingWriter(installation.device(of: sync), seed: 14)
      writer.write(times: 25)
      second = installation.device(of: sync, key: Ed25519PrivateKey())
      let answers = [
        try writer.device.admit(second), try writer.device.create().1,
        try writer.device.revoke(key: second.key.publicKey.bytes),
      ]
      #expect(answers.map(\.status).allSatisfy { (200..<300).contains($0) })
      let (gone, _) = try writer.device.create()
      #expect(try writer.device.delete(gone).status == 200)
      #expect(try push().status == 200)
      try pay()
    }

    /// Pushes a document of versions.
    private func push() throws -> Answer {
      let device = writer.device
      let version: JSONValue = [
        "document": .string(Random.identifier().description),
        "author": .string(Base64.standard.encode(device.key.publicKey.bytes)), "clock": .object([]),
        "counter": 1,
        "created": 1_780_000_000, "deleted": false, "secret": "Bw==",
        "body": "AQID",
      ]
      let signed = JSONValue.object([.init("version", version)]).canonical()
      let signature = Base64.standard.encode(device.key.signature(for: signed))
      return try device.post(
        "/v1/documents", ["versions": [["version": version, "signature": .string(signature)]]])
    }

    /// Everything that a new device pulls of documents of versions.
    static func pull(_ device: TestDevice) throws -> Answer {
      try device.post("/v1/documents/pull", ["clock": .object([])])
    }

    /// Pays a month of premium, and adds a grant.
    private func pay() throws {
      let account = try writer.device.account.description
      try MovingTests.deliverMonth(of: account, to: billing)
      let granted = try installation.command(
        "entitlement", "grant", account, "--plan", "premium", "--until", "2099-01-01T00:00:00Z",
        "--reason", "moved", "--yes")
      #expect(granted.end == .exited(0), "\(granted.output)")
    }

    func export(to path: String) throws -> JSON {
      let account = try writer.device.account.description
      let made = try installation.command("account", "export", account, "--to", path, "--json")
      #expect(made.end == .exited(0), "\(made.output)")
      return try JSON.parse(Array(made.output.utf8))
    }
  }

  private static let product = "prod_oeuwN9CMGohKpA"
  private static let settings = ["COFFER_PLANS": Files.repository + "/webhooks/catalogue.json"]

  /// Stripe reports a month that an account has paid.
  static func deliverMonth(of account: String, to billing: Server) throws {
    let from = Instant(seconds: Clock.system.now().seconds - 86_400)
    var subscription = SampleSubscription(from: from, to: from + .days(30))
    subscription.account = account
    var invoice = SampleInvoice(from: from, to: from + .days(30))
    (subscription.product, invoice.product) = (product, product)
    let sender = Sender(port: billing.port)
    for (id, type, object) in [
      ("evt_1", "customer.subscription.created", subscription.json(.basil)),
      ("evt_2", "invoice.paid", invoice.json(.basil)),
    ] {
      sender.send(SampleEvent(id: id, type: type, created: from, object: object))
    }
    #expect(sender.acknowledged.count == 2)
  }

  @Test func `a purchase that another account owns here keeps the account out`() throws {
    let old = try House(.sqlite)
    _ = try old.export(to: archive)
    let new = try Installation(.sqlite, settings: Self.settings)
    let billing = try new.start(.billing)
    try Self.deliverMonth(of: Random.identifier().description, to: billing)
    let refused = try new.command("account", "import", archive)
    #expect(refused.end == .exited(1))
    #expect(
      refused.output.contains("another account owns stripe:live:subscription:sub_1 here"),
      "\(refused.output)")
    #expect(
      try new.command("account", "list", "--json").output == #"{"accounts":[],"next":null}"# + "\n")
  }

  /// The schedule from now on, as the account sees it.
  private func schedule(_ installation: Installation, _ account: Identifier) throws -> [String] {
    let told = try installation.command("entitlement", "explain", account.description, "--json")
    #expect(told.end == .exited(0), "\(told.output)")
    let rows = try JSON.parse(Array(told.output.utf8))["schedule"].requireArray()
    return try rows.map { row in
      try #require(JSONValue(row)).encoded()
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `the end of an account says which stores hear of it, and --moved spares them`() throws
  {
    let old = try House(.sqlite)
    let account = try old.writer.device.account.description
    func preview(_ words: String...) throws -> String {
      let shown = try old.installation.command(
        ["account", "delete", account, "--reason", "moved"] + words)
      #expect(shown.end == .exited(3), "\(shown.output)")
      return shown.output
    }
    #expect(try preview().contains("Stripe will be asked to stop billing sub_1\n"))
    _ = try old.export(to: archive)
    #expect(
      try preview().contains(
        "Stripe will be asked to stop billing sub_1, although the account was exported"))
    #expect(
      try preview("--moved").contains(
        "Stripe keeps billing sub_1, for the Coffer that has the account now"))
  }

  @Test(arguments: [[:], ["COFFER_STRIPE_API_KEY": "sk_live_x"]])
  func `what was erased of a purchase is read anew where it is taken in`(
    keys: [String: String]
  ) throws {
    let old = try House(.sqlite)
    let database = try Database.open(old.installation.location, owning: .billing)
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE billing.deliveries SET sealed = $1 WHERE delivery_id = 'evt_1'", .blob([]))
    }
    database.close()
    #expect(try old.export(to: archive)["erased_deliveries"].integer == 1)
    let new = try Installation(.sqlite, settings: Self.settings.merging(keys) { $1 })
    #expect(try new.command("migrate").end == .exited(0))
    let taken = try new.command("account", "import", archive, "--json")
    #expect(taken.end == .exited(0), "\(taken.output)")
    let json = try JSON.parse(Array(taken.output.utf8))
    let told = try json[keys.isEmpty ? "unread" : "read"].requireArray().map(\.string)
    #expect(told == ["stripe:live:subscription:sub_1"])
    let waits = try new.command("jobs", "list").output.contains("stripe:live:subscription:sub_1")
    #expect(waits == !keys.isEmpty)
  }

  @Test(.enabled(if: TestEngine.postgresURL != nil))
  func `the contents that an import stored stay if the connection is lost during its commit`()
    throws
  {
    let deed = "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60);"
    #expect(try !objects(ofImportWhoseCommitDoes: deed).isEmpty)
  }

  @Test(.enabled(if: TestEngine.postgresURL != nil))
  func `the contents that an import stored go if its commit finds the disk full`() throws {
    #expect(try objects(ofImportWhoseCommitDoes: "RAISE disk_full;") == [])
  }

  /// The paths of the objects that an import into PostgreSQL leaves whose commit fails because of a statement of
  /// PL/pgSQL. It is repeated without that.
  private func objects(ofImportWhoseCommitDoes deed: String) throws -> [String] {
    let old = try House(.sqlite)
    _ = try old.export(to: archive)
    let new = try Installation(.postgres, settings: Self.settings)
    #expect(try new.command("migrate").end == .exited(0))
    let database = try Database.open(new.location, owning: .sync)
    defer { database.close() }
    func execute(_ statements: String...) throws {
      try database.write(for: nil) { transaction in
        for statement in statements { try transaction.execute(statement) }
      }
    }
    try execute(
      """
      CREATE FUNCTION sync.lose() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN \(deed) RETURN NULL; END'
      """,
      """
      CREATE CONSTRAINT TRIGGER lost AFTER INSERT ON sync.accounts
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sync.lose()
      """)
    let lost = try new.command("account", "import", archive)
    #expect(lost.end != .exited(0), "\(lost.output)")
    // An object's path is `ab/cd/` and its key.
    let stored = Files.paths(under: new.directory + "/objects").filter { $0.utf8.count == 42 }
    try execute("DROP TRIGGER lost ON sync.accounts", "DROP FUNCTION sync.lose()")
    let taken = try new.command("account", "import", archive)
    #expect(taken.end == .exited(0), "\(taken.output)")
    return stored
  }

  @Test(arguments: TestEngine.available)
  func `a move takes along every document, record, key and payment`(engine: TestEngine) throws {
    let old = try House(engine)
    let device = old.writer.device
    let exported = try old.export(to: archive)
    let key = Base64.standard.encode([UInt8](repeating: 9, count: 32))
    let new = try Installation(
      engine, settings: Self.settings.merging(["COFFER_SEALING_KEYS": key]) { $1 })
    let sync = try new.start(.sync)
    let taken = try new.command("account", "import", archive, "--json")
    #expect(taken.end == .exited(0), "\(taken.output)")
    let moved = new.device(of: sync, key: device.key, root: device.root)
    let versions = old.writer.versions
    for id in versions.keys {
      let (before, after) = (
        try device.get("/v1/files/\(id)"), try moved.get("/v1/files/\(id)")
      )
      #expect(before.body == after.body)
      let (content, other) = (
        try device.get("/v1/files/\(id)/content"), try moved.get("/v1/files/\(id)/content")
      )
      #expect(content.status == other.status && content.body == other.body)
    }
    #expect(try House.pull(device).json["versions"].array?.count == 1)
    #expect(try House.pull(device).body == House.pull(moved).body)
    #expect(exported["versions"].integer == 1)
    #expect(taken.output.contains(#""versions":1,"#), "\(taken.output)")
    let documentCount = try exported["documents"].requireInteger()
    #expect(documentCount > 0)
    #expect(taken.output.contains("\"documents\":\(documentCount),"), "\(taken.output)")
    let owed = try schedule(old.installation, device.account)
    #expect(owed.count > 1)
    let there = try schedule(new, device.account)
    #expect(there == owed)
    // An export from the new installation gives the same archive.
    let again = scratch.path + "/again.tar"
    let repeated = try new.command(
      "account", "export", device.account.description, "--to", again, "--json")
    #expect(repeated.end == .exited(0), "\(repeated.output)")
    #expect(
      try JSON.parse(Array(repeated.output.utf8))["sha256"].string == exported["sha256"].string)
    for words in [["doctor", "--all", "--objects"], ["tree", "validate", "--all"]] {
      let found = try new.command(words)
      #expect(found.end == .exited(0), "\(found.output)")
    }
    // From then on it is an account like others. The revoked key does not belong to it.
    #expect(try moved.create().1.status == 200)
    let revoked = new.device(of: sync, key: old.second.key)
    #expect(try revoked.get("/v1/account").status == 401)
    let twice = try new.command("account", "import", archive)
    #expect(twice.end == .exited(1))
    #expect(twice.output.contains("already"), "\(twice.output)")
  }

  @Test
  func `an archive that is not as it was made is refused in one line, and nothing is taken in`()
    throws
  {
    let old = try House(.sqlite)
    _ = try old.export(to: archive)
    let new = try Installation(.sqlite, settings: Self.settings)
    #expect(try new.command("migrate").end == .exited(0))
    let whole = try #require(Files.bytes(archive))
    var flipped = whole
    flipped[600] ^= 1
    let key = Base64.standard.encode(old.writer.device.key.publicKey.bytes)
    let other = Base64.standard.encode(old.second.key.publicKey.bytes)
    let damaged: [(String, [UInt8], String)] = [
      ("cut", Array(whole.prefix(whole.count / 2)), "it is cut off"),
      ("short", Array(whole.dropLast(2048)), "cannot be used"),
      ("flipped", flipped, "account.json does not match the manifest"),
      ("empty", [], "it is cut off"),
      ("text", Array("account,store,id\n".utf8), "it is cut off"),
      ("later", try made(format: 2), "it has format 2; this program reads up to 1"),
      (
        "unsigned", try made { $0.replacing("\"deleted\":false", with: "\"deleted\":true") },
        "breaks the rule root"
      ),
      (
        "resigned",
        try made { $0.hasPrefix("{\"files") ? $0.replacing(key, with: other) : $0 },
        "breaks the rule signature"
      ),
      ("without", try made(leavingOut: "contents/"), "is missing"),
      ("foreign", try made(leavingOut: "billing.json"), "billing.json is missing"),
    ]
    for (name, bytes, line) in damaged {
      let path = scratch.path + "/\(name).tar"
      try Files.write(bytes, to: path)
      let refused = try new.command("account", "import", path)
      #expect(refused.end == .exited(1), "\(name): \(refused.output)")
      #expect(refused.output.contains(line), "\(name): \(refused.output)")
      #expect(refused.output.split(separator: "\n").count == 1, "\(name): \(refused.output)")
    }
    #expect(
      try new.command("account", "list", "--json").output == #"{"accounts":[],"next":null}"# + "\n")
    #expect(try new.command("event", "list").output.contains("evt_1") == false)
    let taken = try new.command("account", "create", "--username", "ben", "--public-key", key)
    #expect(taken.end == .exited(0), "\(taken.output)")
    let refused = try new.command("account", "import", archive)
    #expect(refused.end == .exited(1))
    #expect(refused.output.contains("already"), "\(refused.output)")
  }

  /// A new archive with every text changed, or without some of its files.
  private func made(
    format: Int = 1, leavingOut prefix: String = "-", _ change: (String) -> String = { $0 }
  ) throws -> [UInt8] {
    let reader = try ArchiveReader(archive, kind: "coffer-account", format: 1)
    let path = scratch.path + "/made-\(Random.identifier()).tar"
    let writer = try ArchiveWriter(
      path, kind: "coffer-account", format: format, at: Clock.system.now())
    for file in reader.files where !file.name.hasPrefix(prefix) {
      let bytes = try reader.bytes(of: file)
      let text = file.name.hasSuffix(".json") ? String(decoding: bytes, as: UTF8.self) : nil
      try writer.add(file.name, text.map { Array(change($0).utf8) } ?? bytes)
    }
    _ = try writer.finish()
    return try #require(Files.bytes(path))
  }
}
