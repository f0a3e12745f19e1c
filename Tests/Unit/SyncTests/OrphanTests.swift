import Accounts
import Base
import Crypto
import JSON
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Objects that no row names are deleted online, and no others.
@Suite struct OrphanTests {
  private struct Scene {
    let server: TestServer
    let device: TestDevice

    /// `isSettled`: the store has been this database's for long.
    init(_ engine: TestEngine, isSettled: Bool = true) throws {
      server = try TestServer(engine, freeByteCount: 10_000_000)
      device = try server.register()
      let history = try #require(try server.database.read(History.id))
      try server.objects.belong(to: history)
      if isSettled { try #require(Files.age(server.objectsDirectory + "/history")) }
    }

    func store(isOld: Bool = true) throws -> Identifier {
      let key = Random.identifier()
      let writer = try server.objects.create(key)
      try unsafe writer.write(Random.bytes(100).span.bytes)
      try writer.finish()
      if isOld { try age() }
      return key
    }

    /// Makes every object of the store old.
    func age() throws {
      for path in Files.paths(under: server.objectsDirectory) where path.count > 32 {
        try #require(Files.age("\(server.objectsDirectory)/\(path)"))
      }
    }

    func isThere(_ key: Identifier) throws -> Bool { try server.objects.open(key) != nil }

    /// Looks at the whole store.
    func sweep() throws {
      let sweeper = server.sweeper()
      for _ in 0..<256 { try sweeper.sweepOrphans() }
    }
  }

  @Test(arguments: TestEngine.available)
  func `an object that no row names is deleted`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let orphans = try (0..<5).map { _ in try scene.store() }
    try scene.sweep()
    #expect(try orphans.filter { try scene.isThere($0) } == [])
  }

  @Test(arguments: TestEngine.available)
  func
    `a document's content, replaced content, a snapshot and an upload's reservation keep their objects`(
      engine: TestEngine
    ) throws
  {
    let scene = try Scene(engine)
    let (server, device) = (scene.server, scene.device)
    let id = try device.add()
    let contents = [Random.bytes(40_000), Random.bytes(50_000)]
    for content in contents { try device.put(id, content, ifMatch: "*").requireSuccess() }
    let log = try device.createLog()
    let cursor = try device.page(of: log, "").json["cursor"].string
    try device.putSnapshot([1, 2], of: log, covering: #require(cursor)).requireSuccess()
    let reserved = try scene.store()
    let account = try device.account
    try server.database.write(for: nil) { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
        VALUES ($1, $2, $3, 100, 0)
        """, .id(reserved), .id(account), .blob([1]))
    }
    try scene.age()
    try scene.sweep()
    #expect(try device.get("/v1/files/\(id)/content").body == contents[1])
    #expect(try device.get("\(log.path)/snapshot").holds([1, 2]))
    #expect(try scene.isThere(reserved))
    let garbage = try server.database.read { reader in
      try reader.rows("SELECT object_id FROM sync.garbage") { row in try row.id(0) }
    }
    #expect(garbage.count == 1)
    #expect(try garbage.allSatisfy { try scene.isThere($0) })
  }

  @Test(arguments: TestEngine.available)
  func `that an object could not be deleted is noted until it is gone, whoever deletes it`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let server = scene.server
    let objects = [try scene.store(isOld: false), Random.identifier()]
    let now = server.clock.now
    try server.database.write(for: nil) { transaction in
      for object in objects {
        try FailingItems.note(
          FailingItems.Queue("orphans"), object, of: nil, because: "the disk says no", now: now,
          in: transaction)
      }
    }
    try scene.sweep()
    let noted = try server.database.read { reader in
      try reader.rows("SELECT item FROM sync.failing_items") { row in try row.id(0) }
    }
    #expect(noted == [objects[0]])
  }

  @Test func `a young object stays, because an import writes it before its rows`() throws {
    let scene = try Scene(.sqlite)
    let young = try scene.store(isOld: false)
    try scene.sweep()
    #expect(try scene.isThere(young))
  }

  @Test func `nothing is deleted on the first day after a restore`() throws {
    let scene = try Scene(.sqlite, isSettled: false)
    let object = try scene.store()
    try scene.sweep()
    #expect(try scene.isThere(object))
  }

  @Test func `nothing is deleted while a backup runs`() throws {
    let scene = try Scene(.sqlite)
    let object = try scene.store()
    let hold = try scene.server.objects.hold()
    try scene.sweep()
    #expect(try scene.isThere(object))
    withExtendedLifetime(hold) {}
  }
}
