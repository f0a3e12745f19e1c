import Accounts
import Base
import Crypto
import Glibc
import JSON
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// Folders whose owner says how much they may hold, whoever writes into them.
@Suite struct FolderCapTests {
  @Test(arguments: TestEngine.available)
  func `nobody adds more to a capped folder than it may hold, in whatever way`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let id = try alice.add(in: folder)
    try alice.share(folder, with: bob, mode: "write")
    #expect(try alice.capFolder(folder, .integer(10_000)).json["used"].integer == 1000)
    #expect(try bob.put(id, Random.bytes(8000), ifMatch: "*").status == 200)
    let outside = try alice.add()
    for device in [alice, bob] {
      let full = try device.put(id, Random.bytes(9001), ifMatch: "*")
      #expect(try (full.status, full.problem) == (507, "folder_full"))
      #expect(try full.json["folder"].string == folder.description)
      #expect(try full.json["used"].integer == 9000)
      #expect(try full.json["cap"].integer == 10_000)
      #expect(try full.json["needed"].integer == 10_001)
    }
    let inner = try bob.add("folder", in: folder, owner: alice.account)
    let added = try bob.create(parent: inner, owner: alice.account)
    #expect(try added.answer.problem == "folder_full")
    #expect(try alice.move(outside, to: inner).problem == "folder_full")
    #expect(try alice.held(folder) == 10_000)
    try bob.delete(inner).requireSuccess()
    try alice.move(outside, to: folder).requireSuccess()
    #expect(try alice.held(folder) == 10_000)
    // Below a lower cap it may shrink and be renamed, but not grow.
    #expect(try alice.capFolder(folder, .integer(100)).status == 200)
    #expect(try bob.put(id, Random.bytes(7000), ifMatch: "*").status == 200)
    #expect(try bob.put(id, Random.bytes(7001), ifMatch: "*").problem == "folder_full")
    try bob.rename(id).requireSuccess()
    try alice.move(outside, to: alice.root).requireSuccess()
    #expect(try alice.held(folder) == 8000)
    #expect(try alice.capFolder(folder, .null).status == 200)
    #expect(try bob.put(id, Random.bytes(20_000), ifMatch: "*").status == 200)
    try server.requireRight([alice, bob])
  }

  @Test(arguments: TestEngine.available)
  func `an upload in parts is refused before its first byte, and judged again at its end`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(TestServer(engine))
    let device = scene.device
    let folder = try device.add("folder")
    try device.move(scene.document, to: folder).requireSuccess()
    #expect(try device.capFolder(folder, .integer(50_999)).status == 200)
    #expect(try device.send(scene.creation()).problem == "folder_full")
    #expect(try device.capFolder(folder, .integer(51_000)).status == 200)
    try scene.create()
    #expect(try device.capFolder(folder, .integer(40_000)).status == 200)
    #expect(try scene.append(0..<50_000).problem == "folder_full")
    #expect(try !scene.isStored())
    #expect(try device.capFolder(folder, .integer(51_000)).status == 200)
    #expect(try scene.append(50_000..<50_000, completes: true).status < 300)
    #expect(try scene.isStored())
    #expect(try device.held(folder) == 51_000)
    try scene.server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `an upload under way counts in the capped folders above it, and others are refused at once`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(TestServer(engine, freeByteCount: 1_000_000))
    let device = scene.device
    let outer = try device.add("folder")
    let (left, right) = (try device.add("folder", in: outer), try device.add("folder", in: outer))
    let other = try device.add(in: right)
    try device.move(scene.document, to: left).requireSuccess()
    #expect(try device.capFolder(outer, .integer(100_000)).status == 200)
    #expect(try device.capFolder(right, .integer(50_000)).status == 200)
    try scene.create()
    // Four records and the upload leave 46,000 bytes.
    let full = try device.put(other, Random.bytes(46_001), ifMatch: "*")
    #expect(try (full.status, full.problem) == (507, "folder_full"))
    #expect(try full.json["used"].integer == 4000)
    #expect(try full.json["needed"].integer == 100_001)
    #expect(try device.put(other, Random.bytes(46_000), ifMatch: "*").status == 200)
    #expect(try scene.append(0..<50_000).status < 300)
    #expect(try device.held(outer) == 100_000)
    try scene.server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `an upload that does not grow its document takes no room from others in a capped folder`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(TestServer(engine, freeByteCount: 1_000_000))
    let device = scene.device
    let folder = try device.add("folder")
    let other = try device.add(in: folder)
    try device.move(scene.document, to: folder).requireSuccess()
    #expect(try device.capFolder(folder, .integer(100_000)).status == 200)
    #expect(try device.put(scene.document, Random.bytes(50_000), ifMatch: "*").status == 200)
    #expect(try device.send(scene.creation(ifMatch: "*")).status == 201)
    #expect(try device.put(other, Random.bytes(48_001), ifMatch: "*").problem == "folder_full")
    #expect(try device.put(other, Random.bytes(48_000), ifMatch: "*").status == 200)
    #expect(try device.held(folder) == 100_000)
  }

  @Test(arguments: TestEngine.available)
  func `caps of folders within each other all count, and hold what moves between them`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let device = try server.register()
    let outer = try device.add("folder")
    let (left, right) = (try device.add("folder", in: outer), try device.add("folder", in: outer))
    let moved = try device.add("folder", in: left)
    let id = try device.add(in: moved)
    _ = try device.write(id, Random.bytes(5000))
    _ = try device.write(id, Random.bytes(3000))
    try device.delete(device.add(in: moved)).requireSuccess()
    for folder in [outer, left, right] {
      #expect(try device.capFolder(folder, .integer(20_000)).status == 200)
    }
    // Two records, the content, a version and a record in the trash.
    #expect(try [outer, left, right].map { try device.held($0) } == [13_000, 11_000, 0])
    try device.move(moved, to: right).requireSuccess()
    #expect(try [outer, left, right].map { try device.held($0) } == [13_000, 0, 11_000])
    #expect(try device.put(id, Random.bytes(12_500), ifMatch: "*").problem == "folder_full")
    // The inner folder has room for it, the outer one only without the version.
    #expect(try device.put(id, Random.bytes(8000), ifMatch: "*").status == 200)
    #expect(try device.versions(id).count == 1)
    #expect(try [outer, left, right].map { try device.held($0) } == [18_000, 0, 16_000])
    try server.requireRight([device])
    // One batch moves the folder out, and a file in it back.
    try device.batch(files: [
      device.record(moved).change { $0.parent = device.root },
      device.record(id).change { $0.parent = left },
    ]).requireSuccess()
    #expect(try [outer, left, right].map { try device.held($0) } == [16_000, 14_000, 0])
    try server.requireRight([device])
  }

  @Test func `an account caps at most a hundred folders at a time`() throws {
    let server = try TestServer()
    let device = try server.register()
    let folders = try (0..<101).map { _ in try device.add("folder") }
    for folder in folders.dropLast() {
      #expect(try device.capFolder(folder, .integer(5000)).status == 200)
    }
    let full = try device.capFolder(folders[100], .integer(5000))
    #expect(try (full.status, full.problem) == (409, "too_many_folder_caps"))
    #expect(try device.capFolder(folders[0], .integer(6000)).status == 200)
    #expect(try device.capFolder(folders[0], .null).status == 200)
    #expect(try device.capFolder(folders[100], .integer(5000)).status == 200)
  }

  @Test func `a cap that the writer does not see shows no numbers`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let outer = try alice.add("folder")
    let inner = try alice.add("folder", in: outer)
    try alice.share(inner, with: bob, mode: "write")
    #expect(try alice.capFolder(outer, .integer(1000)).status == 200)
    let full = try bob.create(parent: inner, owner: alice.account).answer
    #expect(try (full.status, full.problem) == (507, "folder_full"))
    for name in ["folder", "used", "cap", "needed"] { #expect(try !full.json[name].exists) }
    #expect(try bob.get("/v1/files/\(outer)/cap").problem == "file_not_found")
    #expect(try bob.capFolder(inner, .null).problem == "not_permitted")
    #expect(try bob.get("/v1/files/\(inner)/cap").json["bytes"].isNull)
  }

  @Test(arguments: TestEngine.available)
  func `a large folder is counted aside, and nothing is added until it is`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 100_000_000)
    let device = try server.register()
    let (folder, other) = (try device.add("folder"), try device.add("folder"))
    var first: Identifier?
    for _ in 0..<9 {
      let files = try (0..<500).map { _ in try device.creation(parent: folder) }
      first = files[0].file.id
      try device.batch(files: files).requireSuccess()
    }
    let id = try #require(first)
    let answer = try device.capFolder(folder, .integer(4_600_000))
    #expect(try answer.json["used"].isNull)
    #expect(try device.put(id, [1], ifMatch: "*").problem == "busy")
    try device.delete(device.add()).requireSuccess()
    try device.delete(id).requireSuccess()
    let upkeep = TreeUpkeep(server.api.host)
    #expect(try upkeep.countFolder())
    #expect(try !upkeep.countFolder())
    #expect(try device.held(folder) == 4_499_000)
    #expect(try device.capFolder(other, .integer(100_000_000)).status == 200)
    #expect(try device.move(folder, to: other).problem == "batch_too_costly")
    #expect(try device.capFolder(device.root, .integer(100_000_000)).json["used"].isNull)
    while try upkeep.countFolder() {}
    #expect(try device.held(device.root) == 4_501_000)
    try server.requireRight([device])
  }

  // SQLite lets no one wait inside of a statement.
  @Test(.enabled(if: TestEngine.available.contains(.postgres)))
  func `a write that waited for its owner's first cap is counted, too`() throws {
    let server = try TestServer(.postgres)
    let device = try server.register()
    let folder = try device.add("folder")
    let id = try device.add(in: folder)
    let (account, status) = (try device.account, Locked<Int?>(nil))
    let other = try server.anotherInstance()
    defer { other.close() }
    let thread = try other.write(for: nil) { transaction in
      _ = try LockedOwners(transaction, [account])
      _ = try FolderCap.set(transaction, folder, of: account, byteCount: 5000, fee: 1000)
      let thread = Thread {
        let answer = try? device.put(id, [1, 2, 3], ifMatch: "*")
        status.withLock { $0 = answer?.status }
      }
      // Until it waits for the owner's row.
      usleep(500_000)
      return thread
    }
    thread.join()
    #expect(status.withLock { $0 } == 200)
    #expect(try device.held(folder) == 1003)
    try server.requireRight([device])
  }

  @Test func `a cap that is set anew gets no count that began before`() throws {
    let server = try TestServer()
    let device = try server.register()
    let folder = try device.add("folder")
    let numbers = try (0..<2).map { _ in
      #expect(try device.capFolder(folder, .null).status == 200)
      #expect(try device.capFolder(folder, .integer(5000)).status == 200)
      return try server.database.read { reader in
        try reader.first("SELECT count_number FROM sync.folder_caps") { try $0.integer(0) }
      }
    }
    #expect(numbers[0] != numbers[1])
    #expect(try device.held(folder) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a folder that loses more than a write counts is counted again`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 100_000_000)
    let device = try server.register()
    let outer = try device.add("folder")
    let folder = try device.add("folder", in: outer)
    for _ in 0..<9 {
      let files = try (0..<500).map { _ in try device.creation(parent: folder) }
      try device.batch(files: files).requireSuccess()
    }
    #expect(try device.capFolder(outer, .integer(100_000_000)).status == 200)
    let upkeep = TreeUpkeep(server.api.host)
    while try upkeep.countFolder() {}
    try device.move(folder, to: device.root).requireSuccess()
    _ = try device.add(in: outer)
    while try upkeep.countFolder() {}
    #expect(try device.held(outer) == 1000)
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `the counters equal a count of every file by the folders above it, after any deeds`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 2, history: 1, cap: 250_000)
    try RandomWalk.take(
      120, on: server,
      [
        .createFolder, .createFolder, .createDocument, .createDocument, .delete, .move, .move,
        .mark, .sweep, .restoreVersion, .restoreDeleted, .restoreElsewhere, .purge, .write, .write,
        .write, .cap, .cap, .choose,
      ], seed: SeededGenerator.seed(of: "folder caps")
    ) { walk in
      let held = try server.heldByFolder(fee: server.catalogue.metadataFeeByteCount)
      let counters = try server.database.read { reader in
        try reader.rows("SELECT folder_id, used_bytes FROM sync.folder_caps") { row in
          (try row.id(0), try row.integer(1))
        }
      }
      for (folder, used) in counters { try #require(held[folder] ?? 0 == used, "\(folder)") }
      try server.requireRight([walk.device])
    }
  }

  @Test(arguments: TestEngine.available)
  func `a wrong counter is found by an audit and mended by a recount`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let account = try device.account
    let folder = try device.add("folder")
    _ = try device.add(in: folder)
    #expect(try device.capFolder(folder, .integer(5000)).status == 200)
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute("UPDATE sync.folder_caps SET used_bytes = 4242")
    }
    let recount = Recount(
      server.database, catalogue: server.catalogue, protocols: [FileTrees.self])
    let finding = try #require(try recount.correct(account, now: server.clock.now))
    #expect(!finding.isRight)
    #expect(finding.folders.map(\.recordedByteCount) == [4242])
    #expect(finding.folders.map(\.trueByteCount) == [1000])
    #expect(try device.held(folder) == 1000)
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `caps go with their account`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    #expect(try device.capFolder(device.add("folder"), .integer(5000)).status == 200)
    #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(server.limits.deletionDelay)
    try server.sweeper().sweepErasures()
    #expect(try server.count("folder_caps") == 0)
  }
}

extension TestServer {
  /// What is below each folder, added up file by file.
  func heldByFolder(fee: Int64) throws -> [Identifier: Int64] {
    try database.read { reader in
      let files = try reader.rows(
        """
        SELECT id, parent_id, CASE WHEN deleted = 0 OR trash_id IS NOT NULL
          THEN content_bytes ELSE -1 END FROM sync.files
        """
      ) { row in (id: try row.id(0), parent: try row.id(1), byteCount: try row.integer(2)) }
      let versions = try reader.rows("SELECT file_id, content_bytes FROM sync.versions") { row in
        (file: try row.id(0), byteCount: try row.integer(1))
      }
      let parents = Dictionary(uniqueKeysWithValues: files.map { ($0.id, $0.parent) })
      var held: [Identifier: Int64] = [:]
      func add(_ byteCount: Int64, above file: Identifier) {
        var file = file
        while let parent = parents[file], parent != file {
          held[parent, default: 0] += byteCount
          file = parent
        }
      }
      for file in files where file.byteCount >= 0 { add(fee + file.byteCount, above: file.id) }
      for version in versions { add(version.byteCount, above: version.file) }
      return held
    }
  }
}
