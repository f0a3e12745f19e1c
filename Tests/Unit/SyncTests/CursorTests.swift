import Accounts
import Base
import Crypto
import JSON
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// How clients follow changes: pages, age, restarts, and cursors that the server did not issue.
@Suite struct CursorTests {
  /// A tree with some of everything, part of it shared, and a sharee that follows it.
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let folder: Identifier

    init(_ engine: TestEngine = .sqlite) throws {
      server = try TestServer(engine)
      alice = try server.register()
      bob = try server.register()
      folder = try alice.add("folder")
      for _ in 0..<3 { _ = try alice.add(in: folder) }
      try alice.share(folder, with: bob)
      try alice.grant(alice.add(), to: bob.account).requireSuccess()
    }

    /// Makes changes of every kind.
    func live() throws {
      let inner = try alice.add("folder", in: folder)
      let outside = try alice.add("folder")
      let documents = try (0..<4).map { _ in try alice.add(in: inner) }
      try alice.put(documents[0], [1, 2], ifMatch: "*").requireSuccess()
      try alice.rename(documents[1]).requireSuccess()
      try alice.move(documents[2], to: outside).requireSuccess()
      try alice.delete(documents[3]).requireSuccess()
      _ = try alice.add(in: outside)
      try alice.move(outside, to: folder).requireSuccess()
      try alice.move(inner, to: alice.root).requireSuccess()
      try alice.grant(documents[0], to: bob.account).requireSuccess()
      try bob.rename(bob.add()).requireSuccess()
    }
  }

  private func same(_ one: Replica, _ two: Replica) -> Bool {
    one.tree == two.tree && one.shares == two.shares
  }

  // MARK: Pages

  @Test(arguments: TestEngine.available, [1, 2, 7])
  func `small pages end where large ones do`(engine: TestEngine, limit: Int) throws {
    let scene = try Scene(engine)
    for device in [scene.alice, scene.bob] {
      var (small, large) = (Replica(device), Replica(device))
      for _ in 0..<3 {
        try scene.live()
        try small.pull(limit: limit)
        try large.pull(limit: 1000)
        #expect(same(small, large))
        #expect(try same(small, device.pulled()))
        #expect(small.troubles.isEmpty)
      }
      #expect(small.pageCount > large.pageCount)
      #expect(small.restartCount == 0)
    }
  }

  @Test(arguments: TestEngine.available)
  func `what happens between two pages is not lost`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "between pages")
    var random = SeededGenerator(seed: seed)
    let scene = try Scene(engine)
    var replica = Replica(scene.bob)
    for _ in 0..<4 {
      try scene.live()
      for _ in 0..<Int.random(in: 0...6, using: &random) { try replica.pullPage(limit: 1) }
    }
    try replica.pull(limit: 3)
    #expect(try same(replica, scene.bob.pulled()))
    #expect(replica.troubles.isEmpty)
  }

  @Test func `a page holds no more than was asked for`() throws {
    let scene = try Scene()
    try scene.live()
    var cursor: String?
    for _ in 0..<100 {
      let page = try scene.bob.updates(since: cursor, limit: 2).json
      #expect((page["changes"].array?.count ?? 99) <= 2)
      cursor = page["cursor"].string
      if page["more"].bool == false { return }
    }
    Issue.record("the pages do not end")
  }

  @Test func `an old cursor may be used again`() throws {
    let scene = try Scene()
    let page = try scene.bob.updates(limit: 2)
    let cursor = try page.json["cursor"].string
    let next = try scene.bob.updates(since: cursor, limit: 2)
    _ = try scene.bob.updates(since: next.json["cursor"].string, limit: 2)
    #expect(try scene.bob.updates(since: cursor, limit: 2).holds(next.body))
  }

  // MARK: Age

  @Test(arguments: TestEngine.available)
  func `a client that was away for longer than deletions are told of starts over`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    var replica = try scene.bob.pulled()
    scene.server.clock.advance(.days(91))
    let answer = try scene.bob.updates(since: replica.cursor)
    #expect(answer.status == 410)
    #expect(try answer.problem == "cursor_expired")
    try replica.pull()
    #expect(replica.restartCount == 1)
    #expect(try same(replica, scene.bob.pulled()))
  }

  @Test func `a client that was away for less goes on, and each pull counts anew`() throws {
    let scene = try Scene()
    var replica = try scene.bob.pulled()
    for _ in 0..<3 {
      scene.server.clock.advance(.days(89))
      try replica.pull(limit: 1)
    }
    #expect(replica.restartCount == 0)
  }

  @Test func `the horizon is a matter of configuration`() throws {
    var limits = SyncLimits()
    limits.deletionHorizon = .days(2)
    let server = try TestServer(limits: limits)
    let device = try server.register()
    let cursor = try device.updates().json["cursor"].string
    server.clock.advance(.days(2))
    #expect(try device.updates(since: cursor).status == 200)
    server.clock.advance(.milliseconds(1))
    #expect(try device.updates(since: cursor).problem == "cursor_expired")
  }

  @Test(arguments: TestEngine.available)
  func `deletions and departures are forgotten after the horizon, and nothing else`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let gone = try alice.add("folder", in: scene.folder)
    _ = try alice.add(in: gone)
    let offered = try alice.add()
    let left = try alice.add(in: scene.folder)
    try alice.grant(offered, to: bob.account).requireSuccess()
    for id in [gone, offered] { try alice.delete(id).requireSuccess() }
    try alice.move(left, to: alice.root).requireSuccess()
    let revoked = try alice.add()
    try alice.grant(revoked, to: bob.account).requireSuccess()
    try alice.revoke(revoked, from: bob.account, expect: "pending").requireSuccess()
    try scene.server.sweepDeletions()
    let before = (try alice.pulled(), try bob.pulled())
    #expect(try counts(scene.server) == [3, 2])
    scene.server.clock.advance(.days(89))
    try scene.server.sweeper().sweep()
    #expect(try counts(scene.server) == [3, 2])
    scene.server.clock.advance(.days(3))
    try scene.server.sweeper().sweep()
    #expect(try counts(scene.server) == [0, 0])
    let after = (try alice.pulled(), try bob.pulled())
    #expect(before.0.tree == after.0.tree)
    #expect(before.1.tree == after.1.tree)
    #expect(after.1.shares[revoked]?.state == "revoked")
    #expect(after.1.shares[offered] == nil)
    #expect(try alice.usage() == Int64(after.0.ids.count) * 1000)
  }

  /// The number of deleted files, and of departures: files that moved out, and files that are no longer
  /// offered.
  private func counts(_ server: TestServer) throws -> [Int] {
    try server.database.read { reader in
      [
        try reader.rows("SELECT id FROM sync.files WHERE deleted = 1") { try $0.id(0) }.count,
        try reader.rows("SELECT file_id FROM sync.departures") { try $0.id(0) }.count,
      ]
    }
  }

  @Test(arguments: TestEngine.available)
  func `a client within the horizon learns of a deletion whenever the sweeper ran`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let gone = try scene.alice.add(in: scene.folder)
    var replica = try scene.bob.pulled()
    scene.server.clock.advance(.days(1))
    try scene.alice.delete(gone).requireSuccess()
    scene.server.clock.advance(.days(89))
    try scene.server.sweeper().sweep()
    try replica.pull()
    #expect(replica.restartCount == 0)
    #expect(!replica.ids.contains(gone))
  }

  @Test(arguments: TestEngine.available)
  func `a deleted folder keeps its place until all beneath it is marked`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let chain = try device.addChain(3)
    try device.delete(chain[0]).requireSuccess()
    server.clock.advance(.days(100))
    try server.sweeper().sweep()
    #expect(try device.record(chain[2]).deleted)
    try server.sweepDeletions()
    try server.sweeper().sweep()
    #expect(try device.pulled().ids == [device.root])
    server.clock.advance(.days(100))
    try server.sweeper().sweep()
    #expect(try device.get("/v1/files/\(chain[2])").status == 404)
    #expect(try device.usage() == 1000)
  }

  @Test func `an id is free again when its deletion is forgotten`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    try device.delete(id).requireSuccess()
    #expect(try device.create(id: id).answer.rules == ["stale"])
    server.clock.advance(.days(92))
    try server.sweeper().sweep()
    #expect(try device.create(id: id).answer.status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a clock that goes back hides nothing`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    var replica = try scene.bob.pulled()
    scene.server.clock.advance(.days(-30))
    try scene.live()
    try replica.pull(limit: 1)
    #expect(replica.restartCount == 0)
    #expect(try same(replica, scene.bob.pulled()))
    scene.server.clock.advance(.days(-30))
    try scene.live()
    scene.server.clock.advance(.days(60))
    try replica.pull(limit: 2)
    #expect(try same(replica, scene.bob.pulled()))
  }

  // MARK: Start over

  @Test(arguments: TestEngine.available)
  func `another history means to start over`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    var replica = try scene.bob.pulled()
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1, cursor_key = $2 WHERE id = 1",
        .id(Random.identifier()), .blob(Random.bytes(32)))
    }
    #expect(try scene.bob.updates(since: replica.cursor).problem == "history_changed")
    try replica.pull()
    #expect(replica.restartCount == 1)
    #expect(try same(replica, scene.bob.pulled()))
  }

  // MARK: None of ours

  @Test func `another's cursor is refused, a sharee's by the owner too`() throws {
    let scene = try Scene()
    let cursors = try [scene.alice, scene.bob].map { try $0.updates().json["cursor"].string }
    #expect(try scene.alice.updates(since: cursors[1]).problem == "cursor_invalid")
    #expect(try scene.bob.updates(since: cursors[0]).problem == "cursor_invalid")
  }

  @Test(arguments: TestEngine.available)
  func `no cursor that a client makes up does harm`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "cursors")
    var random = SeededGenerator(seed: seed)
    let scene = try Scene(engine)
    let text = try #require(try scene.bob.updates().json["cursor"].string)
    let bytes = try #require(Base64.url.decode(text))
    var seen: [Int: Int] = [:]
    for round in 0..<400 {
      var bent = bytes
      switch round % 5 {
      case 0: bent[Int.random(in: bent.indices, using: &random)] ^= random.bytes(count: 1)[0]
      case 1: bent.removeLast(Int.random(in: 1...bent.count, using: &random))
      case 2: bent += random.bytes(count: Int.random(in: 1...40, using: &random))
      case 3:
        // The history and the account stay, so that the rest is really read.
        bent = Array(bent.prefix(33)) + random.bytes(count: Int.random(in: 0...60, using: &random))
      default: bent = random.bytes(count: Int.random(in: 0...80, using: &random))
      }
      guard bent != bytes else { continue }
      let answer = try scene.bob.updates(since: Base64.url.encode(bent))
      seen[answer.status, default: 0] += 1
    }
    // 410 if the first byte names an earlier version.
    #expect(Set(seen.keys).isSubset(of: [400, 410]), "\(seen)")
    #expect(try scene.bob.updates(since: text).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a cursor that its client winds back is refused`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let text = try #require(try scene.bob.updates().json["cursor"].string)
    let bytes = try #require(Base64.url.decode(text))
    // Format, history, account and time, followed by the numbers, each of which could be lowered.
    for place in 33..<bytes.count {
      var bent = bytes
      bent[place] &= bent[place] - (bent[place] > 0 ? 1 : 0)
      guard bent != bytes else { continue }
      let answer = try scene.bob.updates(since: Base64.url.encode(bent))
      #expect(try answer.problem == "cursor_invalid", "byte \(place)")
    }
  }

  @Test func `a cursor of an earlier version has its client start over`() throws {
    let scene = try Scene()
    let text = try #require(try scene.bob.updates().json["cursor"].string)
    var bytes = try #require(Base64.url.decode(text))
    bytes[0] = 2
    bytes.removeLast(16)
    #expect(
      try scene.bob.updates(since: Base64.url.encode(bytes)).problem == "cursor_expired")
  }

  @Test(arguments: TestEngine.available)
  func `every instance on one database reads the others' cursors`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let cursor = try scene.bob.updates().json["cursor"].string
    // A second program does this at its start.
    try History.establish(scene.server.database)
    #expect(try scene.bob.updates(since: cursor).status == 200)
  }

  @Test(arguments: [
    "=", "%00", "A+A", "AAAA%3D", "..", "%F0%9F%92%A5", String(repeating: "A", count: 4000),
  ])
  func `a cursor that is no text of ours is refused`(cursor: String) throws {
    let server = try TestServer()
    let device = try server.register()
    #expect((400..<500).contains(try device.updates(since: cursor).status))
  }
}
