import Accounts
import Base
import Crypto
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// The move of an installation's objects from one directory to another, beside a server.
@Suite struct ObjectMigrationTests {
  private struct Scene {
    let scratch: ScratchDirectory
    let server: TestServer
    let device: TestDevice
    let pair: PairStore

    var new: any ObjectStore { pair.main }
    var old: any ObjectStore { pair.also }

    init(_ engine: TestEngine = .sqlite) throws {
      scratch = try ScratchDirectory()
      pair = try PairStore(
        DirectoryStore(directory: scratch.path + "/new"), at: "new",
        also: HookedStore(DirectoryStore(directory: scratch.path + "/old")), at: "old")
      server = try TestServer(engine, freeByteCount: 10_000_000, objects: pair)
      device = try server.register()
    }

    /// Where `name`, of the two, keeps the object.
    func path(_ key: Identifier, in name: String) -> String {
      let digits = Array(key.description)
      return "\(scratch.path)/\(name)/\(String(digits[0..<2]))/\(String(digits[2..<4]))/\(key)"
    }

    func keys(_ store: any ObjectStore) throws -> Set<Identifier> {
      Set(
        try (UInt8.min...UInt8.max).flatMap {
          try store.list(beginningWith: $0).map(\.key)
        })
    }

    /// Moves every object to the old store, as if it had been written before there were two.
    func makeOld() throws {
      for key in try keys(new) {
        let bytes = try #require(Files.bytes(path(key, in: "new")))
        let writer = try old.create(key)
        try writer.write(unsafe bytes.span.bytes)
        try writer.finish()
        try new.delete(key)
      }
    }

    /// Documents with contents in the old store.
    func documents(_ byteCounts: [Int]) throws -> [(id: Identifier, content: [UInt8])] {
      let made = try byteCounts.map { byteCount in
        let (id, content) = (try device.add(), Random.bytes(byteCount))
        try device.put(id, content, ifMatch: "*").requireSuccess()
        return (id, content)
      }
      try makeOld()
      return made
    }

    func migrate(
      copies: Bool = true, deletes: Bool = false
    ) throws -> ObjectMigration.Found {
      try ObjectMigration(server.database, pair, copies: copies, deletes: deletes).run()
    }
  }

  @Test(arguments: TestEngine.available)
  func `every object that rows need is copied, and then the new store is enough`(
    _ engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let history = try #require(try scene.server.database.read(History.id))
    try scene.old.belong(to: history)
    try scene.pair.belong(to: history)
    let documents = try scene.documents([20_000, 1_200_000, 40_000])
    // One more is replaced: its garbage is not worth a copy.
    let replaced = try scene.documents([50_000])[0]
    try scene.device.put(replaced.id, Random.bytes(30_000), ifMatch: "*").requireSuccess()
    let before = try scene.migrate(copies: false)
    #expect(before.leftCount == 3 && before.leftByteCount == 1_260_000)
    #expect(!before.isComplete && before.copiedCount == 0)
    #expect(try scene.new.companion() == "old")

    let found = try scene.migrate()
    #expect(found.copiedCount == 3 && found.copiedByteCount == 1_260_000)
    #expect(found.unneededCount == 1 && found.isComplete)
    #expect(try scene.new.companion() == nil)
    #expect(try scene.old.companion() == "new")
    #expect(try scene.keys(scene.old).count == 4, "nothing is deleted")
    for key in try scene.keys(scene.old) { try scene.old.delete(key) }
    for (id, content) in documents {
      let answer = try scene.device.get("/v1/files/\(id)/content")
      #expect(answer.holds(content))
    }
    let again = try scene.migrate()
    #expect(again.copiedCount == 0 && again.isComplete)
  }

  @Test func `an object that cannot be copied is named, and the others are copied`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000, 30_000, 40_000])
    let bad = try #require(try scene.keys(scene.old).min())
    try Files.write([1, 2, 3], to: scene.path(bad, in: "old"))
    let found = try scene.migrate()
    #expect(found.copiedCount == 2)
    #expect(found.failures.map(\.object) == [bad])
    #expect(found.failures.allSatisfy { $0.reason.contains("3 bytes instead of") })
    #expect(!found.isComplete)
  }

  @Test func `stores that fail as a whole end the run`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000])
    let key = try #require(try scene.keys(scene.old).first)
    let rows = try scene.server.database.read { reader in
      try reader.first("SELECT owner_id FROM sync.files WHERE object_id = $1", .id(key)) {
        try $0.id(0)
      }
    }
    let owner = try #require(rows)
    // Uploads whose objects have no directory to be written to.
    let one: [UInt8] = [1]
    let keys = (0..<40).map { Identifier(high: key.high, low: UInt64($0)) }
    for key in keys {
      let writer = try scene.old.create(key)
      try writer.write(unsafe one.span.bytes)
      try writer.finish()
    }
    try scene.server.database.write(for: nil) { transaction in
      for key in keys {
        try transaction.execute(
          """
          INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
          VALUES ($1, $2, $3, 1, 0)
          """, .id(key), .id(owner), .blob([1]))
      }
    }
    Files.removeAll(scene.scratch.path + "/new/tmp")
    #expect(throws: ObjectStoreError.self) { try scene.migrate() }
  }

  @Test func `an unfinished copy of a run that was killed is in nobody's way`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000])
    let key = try #require(try scene.keys(scene.old).first)
    try Files.write([9, 9, 9], to: scene.scratch.path + "/new/tmp/\(key)")
    #expect(try scene.migrate().isComplete)
    #expect(try scene.new.open(key)?.byteCount == 20_000)
    #expect(try scene.new.leftovers(before: .distantFuture) == [])
  }

  @Test func `what another run is copying is left to it`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000])
    let key = try #require(try scene.keys(scene.old).first)
    let start = ObjectCheckpoint(byteCount: 0, state: [])
    let other = try #require(scene.new as? DirectoryStore).resume(key, at: start)
    let found = try scene.migrate()
    #expect(found.failures.map(\.object) == [key])
    let bytes = try #require(Files.bytes(scene.path(key, in: "old")))
    try other.write(unsafe bytes.span.bytes)
    try other.finish()
    #expect(try scene.migrate().isComplete)
  }

  @Test(arguments: TestEngine.available)
  func `an object that is collected while it is copied leaves nothing behind`(
    _ engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let document = try scene.documents([20_000])[0]
    let key = try #require(try scene.keys(scene.old).first)
    let (device, server, new, old) = (scene.device, scene.server, scene.new, scene.old)
    try #require(old as? HookedStore).afterOpening { _ in
      // The collector's order: rows, the unfinished object, the objects, the row of the garbage.
      try device.put(document.id, [1], ifMatch: "*").requireSuccess()
      for store in [old, new] { try store.delete(key) }
      try server.database.write(for: nil) { transaction in
        _ = try transaction.execute("DELETE FROM sync.garbage WHERE object_id = $1", .id(key))
      }
    }
    let found = try scene.migrate()
    #expect(found.copiedCount == 0 && found.failures.isEmpty)
    #expect(try scene.keys(new) == [])
    #expect(found.isComplete)
  }

  @Test func `old copies are deleted only where the new store has the whole object`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000, 30_000])
    let keys = try scene.keys(scene.old).sorted()
    #expect(try scene.migrate().isComplete)
    try Files.write([1], to: scene.path(keys[0], in: "new"))
    let found = try scene.migrate(deletes: true)
    #expect(found.deletedCount == 1)
    #expect(try scene.keys(scene.old) == [keys[0]])
  }

  @Test func `no old copy is deleted while a backup runs`() throws {
    let scene = try Scene()
    _ = try scene.documents([20_000])
    do {
      let hold = try scene.old.hold()
      let found = try scene.migrate(deletes: true)
      #expect(found.deletedCount == 0 && found.heldCount == 1)
      #expect(found.isComplete)
      withExtendedLifetime(hold) {}
    }
    #expect(try scene.migrate(deletes: true).deletedCount == 1)
    #expect(try scene.keys(scene.old) == [])
  }

  @Test func `an upload that began in the old store ends there, and the move waits for it`() throws
  {
    let scene = try Scene()
    let upload = try UploadScene(scene.server, byteCount: 50_000)
    try upload.create(first: 20_000)
    // As if it had begun before there were two stores.
    let key = try #require(try scene.new.leftovers(before: .distantFuture).first)
    let tmp = (scene.scratch.path + "/new/tmp/\(key)", "tmp/\(key)")
    let bytes = try #require(Files.bytes(tmp.0))
    try Files.write(bytes, to: "\(scene.scratch.path)/old/\(tmp.1)")
    try #require(Files.remove(tmp.0))
    let waiting = try scene.migrate()
    #expect(waiting.uploadCount == 1 && !waiting.isComplete)
    #expect(try upload.append(20_000..<50_000).status == 200)
    #expect(try upload.isStored())
    #expect(try scene.keys(scene.old) == [key])
    let found = try scene.migrate()
    #expect(found.copiedCount == 1 && found.isComplete)
  }
}
