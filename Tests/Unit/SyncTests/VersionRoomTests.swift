import Accounts
import Backup
import Base
import Crypto
import JSON
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing

/// The room that versions take, and how it is freed.
@Suite struct VersionRoomTests {
  private let small = Random.bytes(100)
  private let large = Random.bytes(20_000)

  @Test(arguments: ContentPlace.all)
  func `a write that grows needs room for the versions, too, unless they are to make it`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, cap: 65_000, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    for _ in 0..<3 { _ = try device.write(id, large) }
    let grown = large + small
    #expect(try device.put(id, grown, ifMatch: "*").problem == "over_cap")
    // It does not grow, so it is stored; what it replaces is not kept.
    #expect(try device.put(id, large, ifMatch: "*").status == 200)
    #expect(try device.versions(id).count == 2)
    #expect(try device.choose("purge").status == 204)
    #expect(try device.get("/v1/account").json["when_full"].string == "purge")
    let last = try device.write(id, grown)
    #expect(try device.usage() > 65_000)
    try server.sweepDeletions()
    #expect(try device.usage() <= 65_000)
    #expect(try device.versions(id).count == 2)
    #expect(try device.get("/v1/files/\(id)/content?version=\(last)").holds(grown))
    #expect(try device.put(id, Random.bytes(64_000), ifMatch: "*").problem == "over_cap")
    #expect(try device.choose("keep").status == 204)
    #expect(try device.put(id, grown + small, ifMatch: "*").problem == "over_cap")
    try server.requireRight([device])
  }

  @Test func `versions that wait for their deletion never take more than the cap once more`()
    throws
  {
    let server = try TestServer(keepingFor: 30, cap: 65_000)
    let device = try server.register()
    let id = try device.add()
    #expect(try device.choose("purge").status == 204)
    var refused = 0
    for _ in 0..<10 {
      let answer = try device.put(id, Random.bytes(30_000 + refused), ifMatch: "*")
      if answer.status != 200 {
        #expect(try answer.problem == "too_much_replaced")
        refused += 1
      }
      #expect(try device.usage() <= 130_000)
    }
    try server.sweepDeletions()
    #expect(try device.usage() <= 65_000)
    try server.requireRight([device])
  }

  @Test(arguments: ContentPlace.all)
  func `an erased account leaves no version and no object`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    for content in [large, small, large, small] { _ = try device.write(id, content) }
    let deletion = try device.send(device.sign("DELETE", "/v1/account"))
    #expect(deletion.status == 202)
    server.clock.advance(server.limits.deletionDelay)
    let sweeper = server.sweeper()
    try sweeper.sweepErasures()
    #expect(try server.count("versions") == 0)
    server.clock.advance(.minutes(11))
    try sweeper.sweep()
    #expect(try server.objectCount() == 0)
  }

  @Test(arguments: TestEngine.available)
  func `the counters equal a recount after any writes, restores, deletions and purges`(
    engine: TestEngine
  ) throws {
    try RandomWalk.take(
      80, on: TestServer(engine, keepingFor: 2, count: 3, cap: 120_000),
      [
        .createFolder, .createDocument, .createDocument, .delete, .delete, .mark, .sweep, .choose,
        .restoreVersion, .write, .write, .write,
      ], seed: SeededGenerator.seed(of: "versions")
    ) { try $0.server.requireRight([$0.device]) }
  }

  @Test(arguments: ContentPlace.all)
  func `a backup's walk finds an object wherever it moves meanwhile`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let ids = try (0..<3).map { _ in try device.add() }
    for id in ids {
      for size in [20_000, 30_000, 40_000] { _ = try device.write(id, Random.bytes(size)) }
    }
    try device.restore(ids[1], try #require(try device.versions(ids[1]).last).number)
      .requireSuccess()
    #expect(try server.objectCount() == 9)
    let audit = ObjectAudit(server.database, server.objects)
    let found = try audit.missing { _ in }
    #expect((found.checked, found.missing.count) == (9, 0))
  }
}
