import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The rules of one account's tree, each broken alone.
@Suite struct TreeRuleTests {
  // MARK: Roots

  @Test(arguments: TestEngine.available)
  func `nobody renames, moves or deletes a root`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folder = try device.add("folder")
    let root = FileStatement(
      id: device.root, owner: try device.account, parent: device.root, type: "folder")
    var (moved, deleted) = (root, root)
    moved.parent = folder
    deleted.deleted = true
    let before = try server.state()
    for file in [root, moved, deleted] {
      let change = FileChange(expect: .at(parent: device.root, hmac: root.name.hmac), file)
      #expect(try device.batch(files: [change]).rules == ["root_immutable"])
    }
    #expect(try device.batch(files: [FileChange(root)]).rules == ["stale"])
    #expect(try server.state() == before)
  }

  @Test func `nobody shares a root`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    #expect(try alice.grant(alice.root, to: bob.account).rules == ["root_immutable"])
  }

  @Test func `a tree has one root`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = Random.identifier()
    #expect(try device.create("folder", parent: id, id: id).answer.rules == ["one_root"])
  }

  @Test func `a file does not become a root`() throws {
    let server = try TestServer()
    let device = try server.register()
    let folder = try device.add("folder")
    #expect(try device.change(folder) { $0.parent = folder }.rules == ["cycle"])
  }

  // MARK: Names

  @Test(arguments: TestEngine.available)
  func `two new siblings of one name are both refused`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let hmac = Random.bytes(32)
    let changes = [try device.creation(hmac: hmac), try device.creation(hmac: hmac)]
    let answer = try device.batch(files: changes)
    #expect(
      try Set(answer.failures)
        == Set(changes.map { Failure(file: $0.file.id.description, rule: "name_taken") }))
  }

  @Test(arguments: TestEngine.available)
  func `a file moved beside one of its name is refused`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folder = try device.add("folder")
    let hmac = Random.bytes(32)
    _ = try device.add(in: folder, hmac: hmac)
    let id = try device.add(hmac: hmac)
    #expect(try device.move(id, to: folder).rules == ["name_taken"])
  }

  @Test(arguments: TestEngine.available)
  func `the name of a deleted file is free`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let hmac = Random.bytes(32)
    for _ in 0..<3 { try device.delete(device.add(hmac: hmac)).requireSuccess() }
    #expect(try device.create(hmac: hmac).answer.status == 200)
  }

  @Test func `a name stays taken where its holder's change is refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let holder = try device.record(device.add())
    try device.rename(device.add(), hmac: Random.bytes(32)).requireSuccess()
    let answer = try device.batch(files: [
      FileChange(
        expect: .at(parent: device.root, hmac: Random.bytes(32)),
        holder.change { $0.name = .init() }.file),
      device.creation(hmac: holder.name!.hmac),
    ])
    #expect(try answer.staleFiles == [holder.id.description])
    #expect(try device.record(holder.id) == holder)
  }

  // MARK: Shape

  @Test(arguments: TestEngine.available)
  func `a folder moves neither beneath itself nor beneath its descendants`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let chain = try device.addChain(3)
    for parent in chain {
      #expect(try device.move(chain[0], to: parent).rules == ["cycle"])
    }
  }

  @Test(arguments: TestEngine.available)
  func `two folders moved into one another in one batch are both refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (a, b) = (try device.add("folder"), try device.add("folder"))
    let before = try server.state()
    let answer = try device.batch(files: [
      device.record(a).change { $0.parent = b }, device.record(b).change { $0.parent = a },
    ])
    #expect(
      try Set(answer.failures) == [
        Failure(file: a.description, rule: "cycle"), Failure(file: b.description, rule: "cycle"),
      ])
    #expect(try server.state() == before)
  }

  @Test func `new folders in a circle are refused, with all that hangs from it`() throws {
    let server = try TestServer()
    let device = try server.register()
    let ids = (0..<3).map { _ in Random.identifier() }
    var changes = try ids.indices.map { index in
      try device.creation("folder", parent: ids[(index + 1) % 3], id: ids[index])
    }
    changes.append(try device.creation(parent: ids[0]))
    let before = try server.state()
    let answer = try device.batch(files: changes)
    #expect(
      try Set(answer.failures)
        == Set(changes.map { Failure(file: $0.file.id.description, rule: "cycle") }))
    #expect(try server.state() == before)
  }

  @Test(arguments: ["document", "link"])
  func `only folders have children`(type: String) throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add()
    try alice.grant(shared, to: bob.account).requireSuccess()
    let parent = type == "link" ? try bob.accept(shared).link : try bob.add()
    #expect(try bob.create(parent: parent).answer.rules == ["parent_not_folder"])
    let id = try bob.add()
    #expect(try bob.move(id, to: parent).rules == ["parent_not_folder"])
  }

  @Test func `a new document of the same batch has no children either`() throws {
    let server = try TestServer()
    let device = try server.register()
    let document = try device.creation()
    let child = try device.creation(parent: document.file.id)
    #expect(
      try device.batch(files: [child, document]).failures
        == [Failure(file: child.file.id.description, rule: "parent_not_folder")])
  }

  @Test func `no file loses its place above`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    #expect(try device.move(id, to: Random.identifier()).rules == ["parent_not_found"])
    #expect(try device.create(parent: Random.identifier()).answer.rules == ["parent_not_found"])
  }

  // MARK: What never changes

  @Test func `a file never changes its type`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    #expect(try device.change(id) { $0.type = "folder" }.rules == ["type_immutable"])
    #expect(
      try device.change(id) {
        $0.type = "link"
        $0.target = Random.identifier()
      }.rules == ["type_immutable"])
  }

  @Test func `a file never changes its owner`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let id = try alice.add()
    let account = try bob.account
    #expect(try alice.change(id) { $0.owner = account }.rules == ["owner_immutable"])
    #expect(
      try alice.change(id) {
        $0.owner = account
        $0.parent = bob.root
      }.rules == ["owner_immutable"])
  }

  @Test func `a link never changes its target`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let (one, two) = (try alice.add(), try alice.add())
    try alice.grant(two, to: bob.account).requireSuccess()
    let link = try alice.share(one, with: bob)
    #expect(try bob.change(link) { $0.target = two }.rules == ["target_immutable"])
  }

  @Test func `a file moves to no other owner's tree`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    try alice.share(folder, with: bob, mode: "write")
    let id = try bob.add()
    #expect(try bob.move(id, to: folder).rules == ["owner_differs"])
    let there = try bob.add(in: folder, owner: alice.account)
    #expect(try bob.move(there, to: bob.root).rules == ["owner_differs"])
  }

  // MARK: What a client believes

  @Test(arguments: TestEngine.available)
  func `a change that believes in another parent or name is stale`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (id, folder) = (try device.add(), try device.add("folder"))
    let record = try device.record(id)
    var file = record.statement!
    file.name = .init()
    let before = try server.state()
    for expect: FileChange.Expectation in [
      .at(parent: folder, hmac: record.name!.hmac),
      .at(parent: device.root, hmac: Random.bytes(32)), .new,
    ] {
      let answer = try device.batch(files: [FileChange(expect: expect, file)])
      #expect(try answer.problem == "updates_required")
      #expect(try answer.staleFiles == [id.description])
    }
    #expect(try server.state() == before)
  }

  @Test func `a change of a file that was never there finds none`() throws {
    let server = try TestServer()
    let device = try server.register()
    let file = FileStatement(owner: try device.account, parent: device.root)
    let change = FileChange(expect: .at(parent: device.root, hmac: file.name.hmac), file)
    #expect(try device.batch(files: [change]).rules == ["file_not_found"])
    var deleted = file
    deleted.deleted = true
    #expect(try device.batch(files: [FileChange(deleted)]).rules == ["file_not_found"])
  }

  @Test(arguments: TestEngine.available)
  func `a change made twice in one batch is refused for both`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let id = try alice.add()
    let record = try alice.record(id)
    let creation = try alice.creation()
    let grant = ShareChange.grant(id, to: try bob.account)
    let before = try server.state()
    let answer = try alice.batch(
      files: [
        creation, record.change { $0.name = .init() }, creation,
        record.change { $0.name = .init() },
      ], shares: [grant, grant])
    #expect(try answer.rules == ["duplicate_id"])
    #expect(try answer.failures.count == 6)
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a link moves into a folder whose shares the same batch ends, and nobody is told of it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let folder = try bob.add("folder")
    try bob.share(folder, with: carol)
    let link = try alice.share(alice.add(), with: bob)
    var seen = try carol.pulled()
    let answer = try bob.batch(
      files: [bob.record(link).change { $0.parent = folder }],
      shares: [
        ShareChange(
          expect: "accepted",
          ShareStatement(file: folder, account: carol.account, state: .revoked))
      ])
    #expect(answer.status == 200)
    try seen.pull()
    #expect(!seen.ids.contains(folder))
    let departures = try server.database.read { reader in
      try reader.rows("SELECT file_id FROM sync.departures") { row in try row.id(0) }
    }
    #expect(!departures.contains(link))
  }

  @Test func `a link does not move into a folder of which one of two shares is left`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let others = try (0..<2).map { _ in try server.register() }
    let folder = try bob.add("folder")
    for other in others { try bob.share(folder, with: other) }
    let link = try alice.share(alice.add(), with: bob)
    let answer = try bob.batch(
      files: [bob.record(link).change { $0.parent = folder }],
      shares: [
        ShareChange(
          expect: "accepted",
          ShareStatement(file: folder, account: others[0].account, state: .revoked))
      ])
    #expect(try answer.rules == ["link_in_shared_folder"])
  }
}
