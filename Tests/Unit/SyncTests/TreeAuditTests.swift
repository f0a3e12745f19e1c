import Accounts
import Base
import Crypto
import JSON
import Objects
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Rows that each break one rule, which no request can do. The audit names the rule.
@Suite struct TreeAuditTests {
  private let server: TestServer
  private let ada: TestDevice
  private let bob: TestDevice
  private let folder: Identifier
  private let inner: Identifier
  private let note: Identifier
  private let large: Identifier

  /// Ada's folder with a folder, a small and a large document. Bob sees it through a link.
  init() throws { try self.init(.sqlite) }

  private init(_ engine: TestEngine) throws {
    server = try TestServer(engine)
    (ada, bob) = (try server.register(), try server.register())
    let top = try ada.creation("folder")
    folder = top.file.id
    let files = [
      top, try ada.creation("folder", parent: folder), try ada.creation(parent: folder),
      try ada.creation(parent: folder),
    ]
    (inner, note, large) = (files[1].file.id, files[2].file.id, files[3].file.id)
    try Self.accept(try ada.batch(files: files))
    try Self.accept(try ada.put(note, [1, 2, 3], ifMatch: "\"0\""))
    try Self.accept(try ada.put(large, [UInt8](repeating: 7, count: 40_000), ifMatch: "\"0\""))
    let share = ShareChange.grant(folder, to: try bob.account, key: [UInt8](1...48))
    try Self.accept(try ada.batch(shares: [share]))
    try Self.accept(try bob.batch(files: [try bob.creation("link", target: folder)]))
  }

  private static func accept(_ answer: Answer) throws {
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
  }

  private func laws() throws -> Set<TreeFinding.Law> {
    try laws(of: [try ada.account, try bob.account])
  }

  private func laws(of accounts: [Identifier]) throws -> Set<TreeFinding.Law> {
    var laws: Set<TreeFinding.Law> = []
    for account in accounts {
      var audit = TreeAudit(account, objects: server.objects)
      while !audit.isRead {
        laws.formUnion(try server.database.read { try audit.readSlice($0) }.map(\.law))
      }
    }
    return laws
  }

  /// Erases an account, and checks both trees after every slice.
  private func lawsWhileErasing(_ device: TestDevice) throws -> Set<TreeFinding.Law> {
    let (account, now) = (try device.account, server.clock.now)
    _ = try server.database.write(for: nil) { transaction in
      try AccountDeletion.ask(for: account, erasing: now, by: .owner, at: now, in: transaction)
    }
    let accounts = [try ada.account, try bob.account]
    var found: Set<TreeFinding.Law> = []
    var isDue = true
    while isDue {
      isDue = try server.sweeper().sweepErasure()
      found.formUnion(try laws(of: accounts))
    }
    return found
  }

  @Test func `the tree of whom something was shared with obeys the rules when its owner is erased`()
    throws
  {
    let declined = try ada.add("folder")
    try Self.accept(
      try ada.batch(shares: [.grant(declined, to: try bob.account, key: [UInt8](1...48))]))
    #expect(try lawsWhileErasing(ada) == [])
  }

  @Test func `a tree that an erased account wrote to obeys the rules`() throws {
    let shared = try ada.add("folder")
    _ = try ada.share(shared, with: bob, mode: "write")
    _ = try bob.add(in: shared, owner: try ada.account)
    #expect(try laws() == [])
    #expect(try lawsWhileErasing(bob) == [])
  }

  private func execute(_ sql: String, _ values: [SQLValue]) throws {
    try server.database.write(for: nil) { _ = try $0.execute(sql, values: values) }
  }

  @Test func `a tree that requests made breaks no rule`() throws {
    #expect(try laws() == [])
  }

  private enum Damage: CaseIterable {
    case parent, owner, cycle, height, number, inline, length, garbage, signature, unsigned
    case authorless, link, view, share, sharer, mark, root
  }

  @Test(arguments: Damage.allCases)
  private func `a row that breaks a rule is found by it`(damage: Damage) throws {
    #expect(try harm(damage) == laws())
  }

  /// Breaks a rule. Returns all rules that are broken then.
  @discardableResult
  private func harm(_ damage: Damage) throws -> Set<TreeFinding.Law> {
    let account = SQLValue.id(try ada.account)
    let expected: Set<TreeFinding.Law>
    switch damage {
    case .parent:
      try execute("UPDATE sync.files SET parent_id = $2 WHERE id = $1", [.id(note), .id(large)])
      expected = [.parent, .signature, .height]
    case .owner:
      let root = SQLValue.id(bob.root)
      try execute("UPDATE sync.files SET parent_id = $2 WHERE id = $1", [.id(note), root])
      expected = [.parent, .signature]
    case .cycle:
      try execute("UPDATE sync.files SET parent_id = $2 WHERE id = $1", [.id(folder), .id(inner)])
      expected = [.cycle, .signature]
    case .height:
      try execute("UPDATE sync.files SET height = 0 WHERE id = $1", [.id(folder)])
      expected = [.height]
    case .number:
      try execute("UPDATE sync.files SET seq = 99 WHERE id = $1", [.id(note)])
      expected = [.number]
    case .inline:
      try execute("DELETE FROM sync.inline_contents WHERE file_id = $1", [.id(note)])
      expected = [.content]
    case .length:
      try execute("UPDATE sync.files SET content_bytes = 39999 WHERE id = $1", [.id(large)])
      expected = [.object]
    case .garbage:
      try execute(
        "INSERT INTO sync.garbage (object_id, since_ms) SELECT object_id, 0 FROM sync.files "
          + "WHERE id = $1", [.id(large)])
      expected = [.object]
    case .signature:
      try execute("UPDATE sync.files SET file_key = $2 WHERE id = $1", [.id(note), .blob([9])])
      expected = [.signature]
    case .unsigned:
      try execute(
        "UPDATE sync.files SET author_key = $2 WHERE id = $1",
        [.id(note), .blob([UInt8](repeating: 1, count: 32))])
      expected = [.signature]
    case .authorless:
      try execute(
        "UPDATE sync.files SET author_key = NULL, signature = NULL WHERE id = $1", [.id(note)])
      expected = [.signature]
    case .link:
      try execute(
        "UPDATE sync.shares SET state = 'pending' WHERE file_id = $1", [.id(folder)])
      expected = [.shareLink, .view]
    case .view:
      try execute("DELETE FROM sync.views WHERE owner_id = $1", [account])
      expected = [.view]
    case .share:
      try execute("UPDATE sync.shares SET file_id = $1", [.id(Random.identifier())])
      expected = [.shareOfNothing]
    case .sharer:
      try execute("UPDATE sync.shares SET mode = 'write'", [])
      expected = [.signature]
    case .mark:
      try execute(
        "UPDATE sync.files SET deleted = 1, deleted_ms = 0 WHERE id = $1", [.id(folder)])
      expected = [.mark, .signature]
    case .root:
      try execute("UPDATE sync.accounts SET root_id = $2 WHERE id = $1", [account, .id(inner)])
      expected = [.root]
    }
    return expected
  }

  private enum Repairable: CaseIterable {
    case height, weight, mark, share, view, strayView
  }

  /// Repairs all findings, again and again while there are any.
  private func repairAll() throws -> [TreeRepair.Outcome] {
    var outcomes: [TreeRepair.Outcome] = []
    for device in [ada, bob] {
      let (account, now) = (try device.account, server.clock.now)
      var audit = TreeAudit(account, objects: server.objects)
      while !audit.isRead {
        for finding in try server.database.read({ try audit.readSlice($0) }) {
          outcomes.append(
            try server.database.write(for: account) { transaction in
              try TreeRepair.repair(finding, of: account, at: now, in: transaction)
            })
        }
      }
    }
    return outcomes
  }

  @Test(arguments: TestEngine.available, Repairable.allCases)
  private func `what has one right repair is repaired, and breaks no rule any more`(
    engine: TestEngine, damage: Repairable
  ) throws {
    try TreeAuditTests(engine).expectRepair(of: damage)
  }

  private func expectRepair(of damage: Repairable) throws {
    let (account, other) = (SQLValue.id(try ada.account), SQLValue.id(try bob.account))
    switch damage {
    case .height: try execute("UPDATE sync.files SET height = 0 WHERE id = $1", [.id(folder)])
    case .weight:
      try execute("UPDATE sync.files SET content_bytes = 77 WHERE id = $1", [.id(inner)])
    case .mark:
      try execute(
        "UPDATE sync.files SET deleted_with = $2 WHERE id = $1", [.id(note), .id(folder)])
    case .share:
      try execute(
        """
        INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key, author_key,
          signature, seq, changed_ms)
        SELECT $1, account_id, owner_id, mode, 'pending', share_key, author_key, signature, seq + 100, 0
        FROM sync.shares
        """, [.id(Random.identifier())])
      try execute("UPDATE sync.accounts SET seq = seq + 200 WHERE id = $1", [other])
    case .view: try execute("DELETE FROM sync.views WHERE owner_id = $1", [account])
    case .strayView:
      try execute(
        "INSERT INTO sync.views (account_id, owner_id, number, from_seq) VALUES ($1, $2, 1, 0)",
        [account, other])
    }
    #expect(try !laws().isEmpty)
    let outcomes = try repairAll()
    #expect(
      outcomes.contains { if case .repaired = $0 { true } else { false } }, "\(outcomes)")
    #expect(try laws() == [])
    #expect(try bob.updates().status == 200)
  }

  @Test func `a view that was lost is read from its beginning`() throws {
    let cursor = try #require(try bob.updates().json["cursor"].string)
    try execute("DELETE FROM sync.views WHERE owner_id = $1", [.id(try ada.account)])
    _ = try repairAll()
    let page = try bob.updates(since: cursor).json
    #expect(page["restart"].array?.compactMap(\.string) == [try ada.account.description])
    let seen = page["changes"].array?.compactMap { $0["file"]["id"].string } ?? []
    #expect(Set(seen).isSuperset(of: [folder, inner, note, large].map(\.description)))
  }

  @Test(arguments: [Damage.parent, .cycle, .inline, .length, .signature, .unsigned, .root])
  private func `what could be repaired in two ways is left as it is`(damage: Damage) throws {
    try harm(damage)
    let before = try laws().subtracting([.height])
    let rows = try files()
    _ = try repairAll()
    #expect(try laws().subtracting([.height]) == before)
    #expect(try files() == rows)
  }

  /// Everything about records that clients receive.
  private func files() throws -> [String] {
    try server.database.read { reader in
      try reader.rows(
        """
        SELECT id, parent_id, seq, content_bytes, deleted FROM sync.files ORDER BY id
        """
      ) { row in
        "\(try row.id(0)) \(try row.id(1)) \(try row.integer(2)) \(try row.integer(3)) "
          + "\(try row.integer(4))"
      }
    }
  }

  @Test func `an object that is gone is found`() throws {
    let object = try #require(
      try server.database.read { reader in
        try reader.first("SELECT object_id FROM sync.files WHERE id = $1", .id(large)) { row in
          try row.id(0)
        }
      })
    try server.objects.delete(object)
    #expect(try laws() == [.object])
  }

  @Test func `while objects are held nothing is deleted, and afterwards all that is due`() throws {
    let old = try #require(
      try server.database.read { reader in
        try reader.first("SELECT object_id FROM sync.files WHERE id = $1", .id(large)) { row in
          try row.id(0)
        }
      })
    try Self.accept(try ada.put(large, [UInt8](repeating: 8, count: 30_000), ifMatch: "*"))
    server.clock.advance(.hours(1))
    var hold: (any ObjectHold)? = try server.objects.hold()
    try server.sweeper().sweep()
    #expect(try server.objects.open(old) != nil)
    withExtendedLifetime(hold) {}
    hold = nil
    try server.sweeper().sweep()
    #expect(try server.objects.open(old) == nil)
  }
}
