import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Deleted files that come back into another folder or under another name.
@Suite struct TrashPlacementTests {
  private let large = Random.bytes(20_000)

  /// A folder with a chain of folders in it, which is deleted and comes back, and a chain to which it can move.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let folder: Identifier
    /// The chain in the folder. The outermost comes first.
    let below: [Identifier]
    let above: [Identifier]

    init(_ engine: TestEngine, below belowCount: Int = 100, above aboveCount: Int) throws {
      server = try TestServer(engine, trashFor: 30)
      device = try server.register()
      folder = try device.add("folder")
      below = try device.addChain(belowCount, in: folder)
      above = try device.addChain(aboveCount)
    }

    func delete() throws {
      try device.delete(below[0]).requireSuccess()
      try server.sweepDeletions()
    }
  }

  @Test(arguments: ContentPlace.all)
  func `a deleted folder comes back elsewhere, with everything in it, for all who see that place`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, trashFor: 30, objects: place.store)
    let (alice, bob) = (try server.register(), try server.register())
    let (shared, folder) = (try alice.add("folder"), try alice.add("folder"))
    let inner = try alice.add("folder", in: folder)
    let id = try alice.add(in: inner)
    _ = try alice.write(id, large)
    try alice.share(shared, with: bob)
    let usage = try alice.usage()
    var (own, others) = (try alice.pulled(), try bob.pulled())
    try alice.delete(folder).requireSuccess()
    try server.sweepDeletions()
    let name = FileStatement.Name()
    let restored = try alice.restoreDeleted(folder) {
      $0.parent = shared
      $0.name = name
      $0.key = Random.bytes(40)
    }
    #expect(restored.status == 200)
    #expect(try restored.json["version"].integer == alice.record(folder).version)
    try server.sweepDeletions()
    try own.pull()
    try others.pull()
    let record = try alice.record(folder)
    #expect(record.parent == shared && record.name == name && !record.deleted)
    #expect(record.author == alice.key.publicKey.bytes)
    for replica in [own, others] {
      #expect([folder, inner, id].map { replica.records[$0]?.deleted } == [false, false, false])
    }
    #expect(try bob.get("/v1/files/\(id)/content").holds(large))
    #expect(try alice.usage() == usage)
    try server.requireRight([alice, bob])
    try server.requireSound([alice, bob])
  }

  @Test(arguments: TestEngine.available)
  func `a place that breaks a rule is refused by its name, and nothing comes back`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let (device, other) = (try server.register(), try server.register())
    let folder = try device.add("folder")
    let inner = try device.add("folder", in: folder)
    let document = try device.add()
    let deep = try #require(try device.addChain(127).last)
    let hmac = Random.bytes(32)
    let holder = try device.add(hmac: hmac)
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    let rules: [(rule: String, change: (inout FileStatement) -> Void)] = [
      ("too_deep", { $0.parent = deep }), ("parent_not_folder", { $0.parent = document }),
      ("type_immutable", { $0.type = "document" }),
      ("owner_immutable", { $0.owner = Identifier(high: 1, low: 1) }),
    ]
    for (rule, change) in rules {
      let answer = try device.restoreDeleted(folder, as: change)
      #expect(try (answer.status, answer.rules) == (422, [rule]))
    }
    for gone in [inner, folder, other.root, Identifier(high: 1, low: 1)] {
      let answer = try device.restoreDeleted(folder) { $0.parent = gone }
      #expect(try answer.problem == "parent_gone")
      #expect(try answer.json["parent"].string == gone.description)
    }
    let taken = try device.restoreDeleted(folder) { $0.name.hmac = hmac }
    #expect(try taken.problem == "name_taken")
    #expect(try taken.json["file"].string == holder.description)
    let unsigned = try device.restoreDeleted(folder, signedBy: other.key) { _ in }
    #expect(try unsigned.rules == ["signature_invalid"])
    let body = JSONValue.object([.init("note", "mine")]).encoded()
    let noted = try device.send(device.sign("POST", "/v1/trash/\(folder)/restore", body: body))
    #expect(try noted.json["path"].string == "$.note")
    #expect(try device.record(folder).deleted)
    #expect(try device.record(inner).deleted)
    // Its old name may be taken if it gets another one.
    let former = try #require(try device.record(folder).name?.hmac)
    _ = try device.add(hmac: former)
    #expect(try device.restoreDeleted(folder).problem == "name_taken")
    try device.restoreDeleted(folder) { $0.name = .init() }.requireDone()
    try server.sweepDeletions()
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `what would be too deep in its old folder comes back only elsewhere`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, above: 29)
    let (server, device) = (scene.server, scene.device)
    let (folder, below, above) = (scene.folder, scene.below, scene.above)
    try scene.delete()
    // The deleted levels count for nothing.
    try device.move(folder, to: above[28]).requireSuccess()
    let refused = try device.restoreDeleted(below[0])
    #expect(try (refused.status, refused.rules) == (422, ["too_deep"]))
    #expect(try device.record(below[0]).deleted)
    try device.restoreDeleted(below[0]) { $0.parent = above[27] }.requireDone()
    try server.sweepDeletions()
    for id in below { #expect(try device.record(id).deleted == false) }
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `what came back into its old folder counts as levels of it again`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, above: 28)
    let (server, device) = (scene.server, scene.device)
    let (folder, below, above) = (scene.folder, scene.below, scene.above)
    try scene.delete()
    // The first move counts the levels that are left: none.
    try device.move(folder, to: above[27]).requireSuccess()
    try device.move(folder, to: device.root).requireSuccess()
    try device.restoreDeleted(below[0]).requireDone()
    try server.sweepDeletions()
    try server.requireSound([device])
    #expect(try device.move(folder, to: above[27]).rules == ["too_deep"])
    #expect(try device.move(folder, to: above[26]).status == 200)
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `levels that moved out of a folder do not keep it from coming back`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, above: 100)
    let (server, device) = (scene.server, scene.device)
    let (folder, below, above) = (scene.folder, scene.below, scene.above)
    try device.move(below[1], to: device.root).requireSuccess()
    // Only the height of the folder that moves is counted anew, not that of the folder in it.
    try device.move(folder, to: above[99]).requireSuccess()
    try scene.delete()
    try device.restoreDeleted(below[0]).requireDone()
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `what became too deep while it came back stays in the trash until there is room`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, below: 64, above: 100)
    let (server, device) = (scene.server, scene.device)
    let (below, above) = (scene.below, scene.above)
    try scene.delete()
    try device.restoreDeleted(below[0]).requireDone()
    // What is in it is still deleted.
    try device.move(below[0], to: above[99]).requireSuccess()
    try server.sweepDeletions()
    let deleted = try below.map { try device.record($0).deleted }
    #expect(deleted == (1...64).map { 100 + $0 > 128 })
    try server.requireRight([device])
    try server.requireSound([device])
    try device.move(below[0], to: device.root).requireSuccess()
    try device.restoreDeleted(below[0]).requireDone()
    try server.sweepDeletions()
    for id in below { #expect(try device.record(id).deleted == false) }
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `links do not come back, are counted, and leave their shares pending`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add("folder")
    let folder = try bob.add("folder")
    try alice.grant(shared, to: bob.account).requireSuccess()
    try bob.accept(shared, parent: folder).answer.requireSuccess()
    try bob.delete(folder).requireSuccess()
    try server.sweepDeletions()
    #expect(try bob.get("/v1/trash").json["trash"][0]["links"].integer == 1)
    let restored = try bob.restoreDeleted(folder)
    #expect(try (restored.status, restored.json["links"].integer) == (200, 1))
    try server.sweepDeletions()
    #expect(try bob.share(of: shared)?.state == "pending")
    try bob.accept(shared, parent: folder).answer.requireSuccess()
    #expect(try bob.share(of: shared)?.state == "accepted")
    try server.requireRight([alice, bob])
    try server.requireSound([alice, bob])
  }
}
