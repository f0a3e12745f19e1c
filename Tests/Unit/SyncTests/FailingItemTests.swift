import Accounts
import Base
import Crypto
import Glibc
import JSON
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// No queue of coffer-sync stops at an item that fails. The item waits, is reported, and is done once that is
/// possible.
@Suite struct FailingItemTests {
  private func count(_ server: TestServer, _ condition: String, _ id: Identifier) throws -> Int64 {
    try server.database.read { reader in
      try reader.first("SELECT count(*) FROM sync.\(condition)", .id(id)) { try $0.integer(0) }
    } ?? -1
  }

  /// Adds rows that refer to others, so that those cannot be deleted.
  private func hold(
    _ server: TestServer, _ engine: TestEngine, _ table: String, _ column: String,
    _ values: [[UInt8]]
  ) throws {
    let type = engine == .postgres ? "BYTEA" : "BLOB"
    try server.database.write(for: nil) { transaction in
      try transaction.execute(
        "CREATE TABLE sync.held_rows (held \(type) NOT NULL REFERENCES "
          + (engine == .postgres ? "sync." : "") + "\(table) (\(column)))")
      for value in values {
        try transaction.execute("INSERT INTO sync.held_rows (held) VALUES ($1)", .blob(value))
      }
    }
  }

  private func letGo(_ server: TestServer) throws {
    try server.database.write(for: nil) { try $0.execute("DELETE FROM sync.held_rows") }
  }

  // MARK: deletions

  @Test(arguments: TestEngine.available)
  func `usage that a deletion would make negative stops no other account's deletions`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    var folders: [Identifier] = []
    for device in [ada, bob] {
      let folder = try device.add("folder")
      _ = try device.add(in: folder)
      try device.delete(folder).requireSuccess()
      folders.append(folder)
      server.clock.advance(.seconds(1))
    }
    let usage = try ada.usage()
    try server.setUsage(of: ada.account, 0)
    try server.sweepDeletions()
    #expect(try count(server, "deletions WHERE owner_id = $1", bob.account) == 0)
    #expect(try server.failingItems() == ["deletions \(folders[0]): 1"])
    server.clock.advance(.seconds(2))
    try server.sweepDeletions()
    #expect(try server.failingItems() == ["deletions \(folders[0]): 2"])
    try server.setUsage(of: ada.account, usage)
    // The item now waits longer.
    server.clock.advance(.seconds(1))
    try server.sweepDeletions()
    #expect(try server.failingItems() == ["deletions \(folders[0]): 2"])
    server.clock.advance(.seconds(1))
    try server.sweepDeletions()
    #expect(try server.failingItems() == [])
    #expect(try count(server, "deletions WHERE owner_id = $1", ada.account) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a folder that cannot be deleted stops no other of its owner`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folders = try (0..<3).map { _ in try device.add("folder") }
    let documents = try folders.map { folder in
      let document = try device.add(in: folder)
      try device.put(document, Random.bytes(20_000), ifMatch: "*").requireSuccess()
      return document
    }
    try server.database.write(for: nil) { transaction in
      try transaction.execute(
        "INSERT INTO sync.garbage (object_id, since_ms) "
          + "SELECT object_id, 0 FROM sync.files WHERE id = $1", .id(documents[1]))
    }
    for folder in folders { try device.delete(folder).requireSuccess() }
    try server.sweepDeletions()
    #expect(try server.failingItems() == ["deletions \(folders[1]): 1"])
    let left = try documents.map { try count(server, "files WHERE id = $1 AND deleted = 0", $0) }
    #expect(left == [0, 1, 0])
  }

  @Test(arguments: TestEngine.available)
  func `a deleted chain that cannot go is noted as its owner's, and stops no other`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    let (first, second) = (try ada.chain().chain, try bob.chain().chain)
    try hold(server, engine, "chains", "id", [first.bytes])
    for (device, chain) in [(ada, first), (bob, second)] {
      try device.remove("/v1/chains/\(chain)").requireSuccess()
      server.clock.advance(.seconds(1))
    }
    try server.sweeper().sweep()
    #expect(try count(server, "chains WHERE id = $1", first) == 1)
    #expect(try count(server, "chains WHERE id = $1", second) == 0)
    #expect(try server.failingItems() == ["chains \(first): 1"])
    #expect(try server.failingItems(of: ada.account).count == 1)
    try letGo(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try count(server, "chains WHERE id = $1", first) == 0)
    #expect(try server.failingItems() == [])
  }

  // MARK: folders

  @Test(arguments: TestEngine.available)
  func `a folder that cannot be counted stops no other`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folders = try (0..<3).map { _ in try device.add("folder") }.sorted()
    for folder in folders { #expect(try device.capFolder(folder, .integer(5000)).status == 200) }
    try server.database.write(for: nil) { transaction in
      for (folder, numbers) in zip(folders, [(1, 0), (2, 0), (1, 1)] as [(Int64, Int64)]) {
        try transaction.execute(
          "UPDATE sync.folder_caps SET count_number = $2, counted_number = $3 WHERE folder_id = $1",
          .id(folder), .integer(numbers.0), .integer(numbers.1))
      }
      // The first cannot get the number that the third has.
      let (index, table) =
        engine == .postgres
        ? ("one_number", "sync.folder_caps") : ("sync.one_number", "folder_caps")
      try transaction.execute(
        "CREATE UNIQUE INDEX \(index) ON \(table) (counted_number) WHERE counted_number > 0")
    }
    let upkeep = TreeUpkeep(server.api.host)
    while try upkeep.countFolder() {}
    #expect(try server.failingItems() == ["folders \(folders[0]): 1"])
    let uncounted = "folder_caps WHERE folder_id = $1 AND counted_number < count_number"
    #expect(try folders.map { try count(server, uncounted, $0) } == [1, 0, 0])
    try server.database.write(for: nil) { try $0.execute("DROP INDEX sync.one_number") }
    server.clock.advance(.seconds(2))
    while try upkeep.countFolder() {}
    #expect(try folders.map { try count(server, uncounted, $0) } == [0, 0, 0])
    #expect(try server.failingItems() == [])
  }

  // MARK: accounts

  @Test(arguments: TestEngine.available)
  func `an account that cannot be erased stops no other's erasure`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    let (first, second) = (try ada.account, try bob.account)
    for device in [ada, bob] {
      #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
      server.clock.advance(.seconds(1))
    }
    try hold(server, engine, "device_keys", "public_key", [ada.key.publicKey.bytes])
    server.clock.advance(.days(7))
    try server.sweeper().sweepErasures()
    let isErased = "account_deletions WHERE account_id = $1 AND erased_ms IS NOT NULL"
    #expect(try count(server, isErased, first) == 0)
    #expect(try count(server, isErased, second) == 1)
    #expect(try server.failingItems() == ["erasures \(first): 1"])
    try letGo(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweepErasures()
    #expect(try count(server, isErased, first) == 1)
    #expect(try server.failingItems() == [])
  }

  @Test(arguments: TestEngine.available)
  func `an account that cannot be forgotten stops no other`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    let (first, second) = (try ada.account, try bob.account)
    for device in [ada, bob] {
      #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
    }
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    try hold(server, engine, "accounts", "id", [first.bytes])
    server.clock.advance(server.limits.deletionHorizon)
    server.clock.advance(.days(2))
    try server.sweeper().sweepErasures()
    #expect(try count(server, "accounts WHERE id = $1", first) == 1)
    #expect(try count(server, "accounts WHERE id = $1", second) == 0)
    #expect(try server.failingItems() == ["forgetting \(first): 1"])
    try letGo(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweepErasures()
    #expect(try count(server, "accounts WHERE id = $1", first) == 0)
    #expect(try server.failingItems() == [])
  }

  // MARK: the sweep

  /// Two objects that nothing refers to, the older first.
  private func objects(_ server: TestServer, _ device: TestDevice) throws -> [Identifier] {
    for _ in 0..<2 {
      let document = try device.add()
      try device.put(document, Random.bytes(20_000), ifMatch: "*").requireSuccess()
      try device.delete(document).requireSuccess()
      server.clock.advance(.seconds(1))
    }
    return try server.database.read { reader in
      try reader.rows("SELECT object_id FROM sync.garbage ORDER BY since_ms") { try $0.id(0) }
    }
  }

  @Test(arguments: TestEngine.available)
  func `an object that its disk does not give up stops no other, nor the rest of the sweep`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let objects = try objects(server, try server.register())
    let digits = Array(objects[0].description)
    let path =
      "\(server.objectsDirectory)/\(String(digits[0..<2]))/\(String(digits[2..<4]))/\(objects[0])"
    #expect(unsafe unlink(path) == 0 && mkdir(path, 0o700) == 0)
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == ["garbage \(objects[0]): 1"])
    #expect(try count(server, "garbage WHERE object_id = $1", objects[1]) == 0)
    #expect(unsafe rmdir(path) == 0)
    server.clock.advance(.hours(2))
    try server.sweeper().sweep()
    #expect(try count(server, "garbage WHERE object_id = $1", objects[0]) == 0)
    #expect(try server.failingItems() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a store that lists nothing stops its queue, and no object is noted as failing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let objects = try objects(server, try server.register())
    let (path, away) = ("\(server.objectsDirectory)/tmp", "\(server.objectsDirectory)/away")
    #expect(unsafe rename(path, away) == 0)
    server.clock.advance(.minutes(11))
    #expect(throws: ObjectStoreError.self) { try server.sweeper().sweep() }
    #expect(try server.failingItems() == [])
    #expect(unsafe rename(away, path) == 0)
    try server.sweeper().sweep()
    for object in objects {
      #expect(try count(server, "garbage WHERE object_id = $1", object) == 0)
    }
  }

  @Test(arguments: TestEngine.available)
  func `an object whose row cannot go stops no other`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let objects = try objects(server, try server.register())
    try hold(server, engine, "garbage", "object_id", [objects[0].bytes])
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == ["garbage \(objects[0]): 1"])
    #expect(try count(server, "garbage WHERE object_id = $1", objects[1]) == 0)
    try letGo(server)
    server.clock.advance(.hours(2))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a reservation that cannot end stops no other, nor what the sweep does behind it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let owner = try device.account
    let (held, free) = (Random.identifier(), Random.identifier())
    let expires = server.clock.now
    try server.database.write(for: nil) { transaction in
      for id in [held, free] {
        try transaction.execute(
          """
          INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
          VALUES ($1, $2, $3, 10, $4)
          """, .id(id), .id(owner), .blob(device.key.publicKey.bytes), .instant(expires))
      }
    }
    try hold(server, engine, "reservations", "object_id", [held.bytes])
    let objects = try objects(server, device)
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == ["reservations \(held): 1"])
    #expect(try count(server, "reservations WHERE object_id = $1", free) == 0)
    #expect(try count(server, "garbage WHERE object_id = $1", objects[0]) == 0)
    try letGo(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try count(server, "reservations WHERE object_id = $1", held) == 0)
    #expect(try server.failingItems() == [])
  }

  @Test(arguments: TestEngine.available)
  func `what a crash left of an upload and cannot be deleted waits, and stops no other`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDirectory()
    let store = try HookedStore(DirectoryStore(directory: scratch.path + "/objects"))
    let server = try TestServer(engine, objects: store)
    for _ in 0..<2 {
      let path = "\(scratch.path)/objects/tmp/\(Random.identifier())"
      try Files.write("half", to: path)
      try #require(Files.age(path))
    }
    func left() throws -> [Identifier] { try store.leftovers(before: .distantFuture) }
    try #require(try left().count == 2)
    let first = try left()[0]
    store.beforeDeleting { key in
      if key == first { throw ObjectStoreError.unavailable(reason: "poisoned") }
    }
    for count in Int64(1)...2 {
      // The second sweep is too early to try again.
      for _ in 0..<2 { try server.sweeper().sweep() }
      #expect(try left() == [first])
      #expect(try server.failingItems() == ["leftovers \(first): \(count)"])
      server.clock.advance(.seconds(count))
    }
    store.beforeDeleting { _ in }
    try server.sweeper().sweep()
    #expect(try left() == [])
    #expect(try server.failingItems() == [])
    withExtendedLifetime(scratch) {}
  }

  @Test(arguments: TestEngine.available)
  func `an object without a row that cannot be deleted is noted, and stops no other`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDirectory()
    let store = try HookedStore(DirectoryStore(directory: scratch.path + "/objects"))
    let server = try TestServer(engine, objects: store)
    let history = try #require(try server.database.read(History.id))
    try store.belong(to: history)
    try #require(Files.age(scratch.path + "/objects/history"))
    // Of one part of the store, in this order.
    let orphans = (UInt64(0x0700)...0x0701).map { Identifier(high: $0 << 48, low: 1) }
    for (place, orphan) in zip(["07/00", "07/01"], orphans) {
      let path = "\(scratch.path)/objects/\(place)/\(orphan)"
      try Files.write("whole", to: path)
      try #require(Files.age(path))
    }
    store.beforeDeleting { key in
      if key == orphans[0] { throw ObjectStoreError.unavailable(reason: "poisoned") }
    }
    let sweeper = server.sweeper()
    for _ in 0..<256 { try sweeper.sweepOrphans() }
    #expect(try store.list(beginningWith: 7).map(\.key) == [orphans[0]])
    #expect(try server.failingItems() == ["orphans \(orphans[0]): 1"])
    store.beforeDeleting { _ in }
    for _ in 0..<256 { try sweeper.sweepOrphans() }
    #expect(try store.list(beginningWith: 7).isEmpty)
    #expect(try server.failingItems() == [])
    withExtendedLifetime(scratch) {}
  }

  @Test(arguments: TestEngine.available)
  func `what failed and is in its queue no more is forgotten after a week`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (gone, now) = (Random.identifier(), server.clock.now)
    try server.database.write(for: nil) { transaction in
      try FailingItems.note(
        FailingItems.Queue("links"), gone, of: nil, because: "a rule says no", now: now,
        in: transaction)
    }
    server.clock.advance(.days(7))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == ["links \(gone): 1"])
    server.clock.advance(.seconds(1))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a deleted file that cannot be forgotten stops no other`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let files = try (0..<2).map { _ in try device.add() }
    for file in files { try device.delete(file).requireSuccess() }
    try hold(server, engine, "files", "id", [files[0].bytes])
    server.clock.advance(server.limits.deletionHorizon)
    server.clock.advance(.days(2))
    try server.sweeper().sweep()
    #expect(try server.failingItems() == ["pruning \(files[0]): 1"])
    #expect(try count(server, "files WHERE id = $1", files[1]) == 0)
    try letGo(server)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try count(server, "files WHERE id = $1", files[0]) == 0)
    #expect(try server.failingItems() == [])
  }
}
