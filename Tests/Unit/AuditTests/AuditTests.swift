import Audit
import Base
import JSON
import Storage
import TestEngines
import Testing

@Suite struct AuditTests {
  private static let now = Instant(seconds: 1_800_000_000)
  private static let ada = Identifier(high: 1, low: 1)
  private static let bob = Identifier(high: 2, low: 2)

  private static func open(_ scratch: ScratchDatabase, _ schema: Schema = .billing) throws
    -> Database
  {
    try Database.open(scratch.location, owning: schema)
  }

  private static func draft(
    _ subject: String, by actor: String = "root", account: Identifier? = nil,
    former: Identifier? = nil
  ) -> AuditLog.Draft {
    AuditLog.Draft(
      actor: actor, act: "entitlement grant", subject: subject, account: account,
      formerAccount: former, reason: "asked for it", before: ["cap": 1], after: ["cap": 2])
  }

  /// Writes three entries into billing's chain, a second apart.
  private static func fill(_ database: Database) throws {
    for number in 1...3 {
      try database.write(for: nil) { transaction in
        try AuditLog.append(
          draft("s\(number)"), at: now + .seconds(Int64(number)), in: transaction)
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a chain that nobody touched is whole, and its head is the last entry`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    try Self.fill(database)
    let check = try AuditCheck(.billing, of: database)
    #expect(check.fault == nil)
    #expect(check.count == 3)
    let last = try database.read { try AuditEntry.find(.init(.billing, 3), reading: $0) }
    #expect(check.head == last?.digest)
    #expect(try AuditCheck(.sync, of: database).count == 0)
  }

  @Test(
    arguments: TestEngine.available,
    [
      ("UPDATE billing.audit SET reason = 'none' WHERE number = 2", "billing:2 is not what"),
      ("UPDATE billing.audit SET at_ms = at_ms + 1 WHERE number = 1", "billing:1 is not what"),
      ("UPDATE billing.audit SET state_after = '{}' WHERE number = 3", "billing:3 is not what"),
      ("UPDATE billing.audit SET account_id = digest WHERE number = 2", "billing:2 is not what"),
      (
        "UPDATE billing.audit SET former_account_id = substr(digest, 1, 0) WHERE number = 2",
        "billing:2 is not what"
      ),
      ("DELETE FROM billing.audit WHERE number = 2", "billing:2 is missing"),
      ("DELETE FROM billing.audit WHERE number = 3", "billing:3 is missing"),
      (
        """
        INSERT INTO billing.audit (number, at_ms, actor, act, subject, reason, state_before,
          state_after, digest)
        SELECT number - 3, at_ms, actor, act, subject, 'forged', state_before, state_after, digest
        FROM billing.audit WHERE number = 3
        """, "billing:0 was put before the first entry"
      ),
      ("UPDATE billing.audit_head SET number = 2", "the head of billing is not its last entry"),
      ("DELETE FROM billing.audit_head", "the head of billing is missing"),
    ])
  func `whoever changes the log behind its back is found at the first entry that differs`(
    _ engine: TestEngine, _ wrong: (String, String)
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    try Self.fill(database)
    try database.write(for: nil) { try $0.execute(wrong.0) }
    let fault = try #require(try AuditCheck(.billing, of: database).fault)
    #expect(fault.hasPrefix(wrong.1))
    let latest = try database.read { try AuditCheck(latest: 4, of: .billing, reading: $0).fault }
    #expect(latest?.hasPrefix(wrong.1) == true)
  }

  @Test(arguments: TestEngine.available)
  func `the latest entries are checked without those before them`(_ engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    try Self.fill(database)
    try database.write(for: nil) { transaction in
      try transaction.execute("UPDATE billing.audit SET reason = 'none' WHERE number = 1")
    }
    let checks = try (1...3).map { count in
      try database.read { try AuditCheck(latest: count, of: .billing, reading: $0) }
    }
    #expect(checks.map(\.begin) == [2, 1, 0])
    #expect(checks.map(\.checkedCount) == [1, 2, 0])
    #expect(checks.map { $0.fault == nil } == [true, true, false])
  }

  @Test(arguments: TestEngine.available)
  func `what no act can have written is listed with the rest`(_ engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    try Self.fill(database)
    try database.write(for: nil) { transaction in
      try transaction.execute("UPDATE billing.audit SET account_id = digest WHERE number = 2")
    }
    let listed = try database.read { try AuditQuery().entries(after: nil, limit: 9, reading: $0) }
    #expect(listed.map(\.subject) == ["s3", "s2", "s1"])
  }

  @Test(arguments: TestEngine.available)
  func `an end that was cut off with its head is found by a head that was kept`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    try Self.fill(database)
    let kept = try AuditCheck(.billing, of: database).head
    #expect(try AuditCheck(.billing, seeking: [kept], of: database).found == [kept])
    try database.write(for: nil) { transaction in
      try transaction.execute("DELETE FROM billing.audit WHERE number = 3")
      let digest = try transaction.first("SELECT digest FROM billing.audit WHERE number = 2") {
        try $0.blob(0)
      }
      try transaction.execute(
        "UPDATE billing.audit_head SET number = 2, digest = $1", .blob(digest))
    }
    let check = try AuditCheck(.billing, seeking: [kept], of: database)
    #expect(check.fault == nil)
    #expect(check.found.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `an act that fails leaves no entry, and the next one no gap`(_ engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let database = try Self.open(scratch)
    defer { database.close() }
    struct Failed: Error {}
    #expect(throws: Failed.self) {
      try database.write(for: nil) { transaction in
        try AuditLog.append(Self.draft("s0"), at: Self.now, in: transaction)
        throw Failed()
      }
    }
    try Self.fill(database)
    let check = try AuditCheck(.billing, of: database)
    #expect(check.count == 3)
    #expect(check.fault == nil)
  }

  @Test(arguments: TestEngine.available)
  func `entries are found by account, by actor and by time, both chains as one`(
    _ engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    let drafts: [(Schema, AuditLog.Draft)] = [
      (.billing, Self.draft("a", by: "carol (Unix user root)", account: Self.ada)),
      (.sync, Self.draft("b", by: "carol", account: Self.bob)),
      (.billing, Self.draft("c", by: "caroline", account: Self.bob, former: Self.ada)),
      (.sync, Self.draft("d")),
    ]
    for (index, (schema, draft)) in drafts.enumerated() {
      let database = try Self.open(scratch, schema)
      defer { database.close() }
      let at = Self.now + .seconds(Int64(index))
      try database.write(for: nil) { transaction in
        try AuditLog.append(draft, to: schema, at: at, in: transaction)
      }
    }
    let database = try Self.open(scratch)
    defer { database.close() }
    func subjects(
      account: Identifier? = nil, actor: String? = nil, since: Instant? = nil
    ) throws -> [String] {
      var query = AuditQuery()
      (query.account, query.actor, query.since) = (account, actor, since)
      // Page by page, as a reader would.
      return try database.read { reader in
        var found: [AuditEntry] = []
        while let next = try query.entries(after: found.last, limit: 1, reading: reader).first {
          found.append(next)
        }
        return found.map(\.subject)
      }
    }
    #expect(try subjects() == ["d", "c", "b", "a"])
    #expect(try subjects(account: Self.ada) == ["c", "a"])
    #expect(try subjects(account: Self.bob) == ["c", "b"])
    #expect(try subjects(actor: "carol") == ["b", "a"])
    #expect(try subjects(since: Self.now + .seconds(2)) == ["d", "c"])
  }

  @Test(arguments: TestEngine.available)
  func `entries of one moment have one order, whatever the page`(_ engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    for schema in Schema.allCases {
      let database = try Self.open(scratch, schema)
      defer { database.close() }
      for number in 1...2 {
        try database.write(for: nil) { transaction in
          try AuditLog.append(
            Self.draft("\(schema)\(number)"), to: schema, at: Self.now, in: transaction)
        }
      }
    }
    let database = try Self.open(scratch)
    defer { database.close() }
    let whole = try database.read { try AuditQuery().entries(after: nil, limit: 9, reading: $0) }
    #expect(whole.map(\.subject) == ["sync2", "sync1", "billing2", "billing1"])
    for (index, entry) in whole.enumerated() {
      let rest = try database.read {
        try AuditQuery().entries(after: entry, limit: 9, reading: $0)
      }
      #expect(rest.map(\.name) == whole.dropFirst(index + 1).map(\.name))
    }
  }
}
