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
import Tiers

/// What operators see of where an account's usage comes from.
@Suite struct UsageExplanationTests {
  private func explain(
    _ device: TestDevice, _ server: TestServer, limit: Int = 20
  ) throws -> UsageExplanation {
    let account = try device.account
    return try server.database.read { reader in
      try UsageExplanation(
        reader, account, root: device.root, fee: server.catalogue.metadataFeeByteCount,
        limit: limit, now: server.clock.now)
    }
  }

  @Test(arguments: TestEngine.available)
  func `usage is told by part, by folder at the top, and by who wrote last`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let (alice, bob) = (try server.register(), try server.register())
    let (shared, own) = (try alice.add("folder"), try alice.add("folder"))
    let deep = try alice.add("folder", in: shared)
    try alice.share(shared, with: bob, mode: "write")
    let id = try bob.add(in: deep, owner: alice.account)
    _ = try bob.write(id, Random.bytes(30_000))
    _ = try alice.write(id, Random.bytes(20_000))
    _ = try alice.write(try alice.add(in: own), Random.bytes(500))
    _ = try alice.write(try alice.add(), Random.bytes(300))
    let deleted = try alice.add(in: own)
    _ = try alice.write(deleted, Random.bytes(40))
    try alice.delete(deleted).requireSuccess()
    let usage = try explain(alice, server)
    #expect(usage.total.byteCount == (try alice.usage()))
    #expect(usage.total.historyByteCount == 30_000)
    #expect(usage.total.trashByteCount == 1040)
    // The shared folder has a folder, a document and its version.
    #expect(usage.folders.map(\.id) == [shared, alice.root, own])
    #expect(usage.folders.map(\.parts.byteCount) == [52_000, 4300, 2540])
    #expect(usage.folders.map(\.parts.trashByteCount) == [0, 0, 1040])
    // Nobody signed the root.
    #expect(usage.writers.map(\.id) == [try bob.account, try alice.account, nil])
    #expect(usage.writers.map(\.parts.byteCount) == [30_000, 27_840, 1000])
    #expect(usage.uploadByteCount == 0)
  }

  @Test func `what is not listed by itself is summed as others`() throws {
    let server = try TestServer()
    let device = try server.register()
    let folders = try (0..<5).map { _ in try device.add("folder") }
    for (index, folder) in folders.enumerated() {
      _ = try device.write(try device.add(in: folder), Random.bytes(100 * (index + 1)))
    }
    let usage = try explain(device, server, limit: 2)
    #expect(usage.folders.map(\.id) == [device.root, folders[4], nil])
    #expect(usage.folders.map(\.otherCount) == [0, 0, 4])
    #expect(usage.folders.last?.parts.byteCount == 5000)
    #expect(usage.folders.last?.parts.recordCount == 4)
  }

  @Test func `uploads under way and objects to collect are told, too`() throws {
    let scene = try UploadScene(TestServer())
    let id = try scene.device.add()
    for count in [20_000, 30_000] { _ = try scene.device.write(id, Random.bytes(count)) }
    try scene.create()
    let usage = try explain(scene.device, scene.server)
    #expect(usage.uploadByteCount == 50_000)
    #expect(usage.collectableByteCount == 20_000)
    #expect(usage.total.byteCount == (try scene.device.usage()))
  }

  @Test(arguments: TestEngine.available)
  func `the parts add up to what is charged, after any deeds`(engine: TestEngine) throws {
    let server = try TestServer(engine, trashFor: 2, history: 1, cap: 250_000)
    try RandomWalk.take(
      80, on: server,
      [
        .createFolder, .createFolder, .createDocument, .createDocument, .delete, .move, .mark,
        .sweep, .restoreDeleted, .purge, .write, .write, .write,
      ], seed: SeededGenerator.seed(of: "usage explanation")
    ) { walk in
      let usage = try explain(walk.device, server)
      let parts = try walk.device.get("/v1/account").json["usage_parts"]
      try #require(usage.total.liveByteCount == parts["live"].integer)
      try #require(usage.total.historyByteCount == parts["history"].integer)
      try #require(usage.total.trashByteCount == parts["trash"].integer)
      let held = try server.heldByFolder(fee: server.catalogue.metadataFeeByteCount)
      for folder in usage.folders where folder.id != walk.device.root && folder.otherCount == 0 {
        try #require(folder.id.flatMap { held[$0] } == folder.parts.byteCount)
      }
      for shares in [usage.folders, usage.writers] {
        try #require(shares.reduce(0) { $0 + $1.parts.byteCount } == usage.total.byteCount)
      }
    }
  }
}
