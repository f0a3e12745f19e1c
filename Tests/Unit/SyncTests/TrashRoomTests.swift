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

/// The room that trash takes, and how it is freed.
@Suite struct TrashRoomTests {
  private let large = Random.bytes(20_000)

  @Test(arguments: ContentPlace.all)
  func `trash is purged once its days are over, or at once on request`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, trashFor: 2, objects: place.store)
    let device = try server.register()
    let folder = try device.add("folder")
    let documents = try (0..<3).map { _ in try device.add(in: folder) }
    for id in documents { _ = try device.write(id, large) }
    _ = try device.write(documents[0], large)
    let other = try device.add()
    _ = try device.write(other, large)
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    #expect(try device.usage() == 86_000 + 20_000)
    try device.delete(other).requireSuccess()
    #expect(try device.purge(other).status == 204)
    try server.sweepDeletions()
    #expect(try device.usage() == 85_000)
    #expect(try device.restoreDeleted(other).problem == "trash_not_found")
    server.clock.advance(.days(1))
    // The versions of purged documents go with the next sweep of deletions.
    for _ in 0..<2 { try server.sweepDeletions() }
    #expect(try device.usage() == 1000)
    #expect(try server.count("trash") + server.count("versions") == 0)
    #expect(try server.count("files WHERE trash_id IS NOT NULL") == 0)
    try server.requireRight([device])
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.objectCount() == 0)
    try server.requireSound([device])
  }

  @Test(arguments: ContentPlace.all)
  func `versions make room first, and then the oldest trash, if the owner chose so`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, trashFor: 30, cap: 70_000, objects: place.store)
    let device = try server.register()
    let ids = try (0..<2).map { _ in try device.add() }
    for id in ids { _ = try device.write(id, large) }
    for id in ids { try device.delete(id).requireSuccess() }
    let id = try device.add()
    #expect(try device.put(id, Random.bytes(40_000), ifMatch: "*").problem == "over_cap")
    #expect(try device.choose("purge").status == 204)
    _ = try device.write(id, Random.bytes(40_000))
    try server.sweepDeletions()
    #expect(try device.usage() == 1000 + 41_000 + 21_000)
    #expect(try device.restoreDeleted(ids[0]).problem == "trash_not_found")
    try device.restoreDeleted(ids[1]).requireDone()
    try server.sweepDeletions()
    try server.requireRight([device])
  }

  /// A folder that was restored without one of its documents, whose name is taken.
  private func partlyRestored(
    _ device: TestDevice, _ server: TestServer, meanwhile: () throws -> Void = {}
  ) throws -> Identifier {
    let (folder, name) = (try device.add("folder"), Random.bytes(32))
    let document = try device.add(in: folder, hmac: name)
    _ = try device.write(document, large)
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try device.restoreDeleted(folder).requireDone()
    _ = try device.add(in: folder, hmac: name)
    try meanwhile()
    try server.sweepDeletions()
    try #require(try server.count("trash WHERE state = 'kept'") == 1)
    return folder
  }

  @Test(arguments: ContentPlace.all)
  func
    `what the trash has left of a folder goes with the folder if the plan keeps nothing any more`(
      place: ContentPlace
    ) throws
  {
    let server = try TestServer(place.engine, trashFor: 30, objects: place.store)
    let device = try server.register()
    let folder = try partlyRestored(device, server)
    try server.setCap(device.account, 1_000_000, plan: "premium", reason: "subscribed")
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try server.requireRight([device])
    #expect(try device.restoreDeleted(folder).problem == "trash_not_found")
    #expect(try device.usage() == 1000)
    try server.requireSound([device])
  }

  @Test(arguments: ContentPlace.all)
  func `what could not be restored is purged on time, even if its plan was looked at meanwhile`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, trashFor: 2, objects: place.store)
    let device = try server.register()
    _ = try partlyRestored(device, server) {
      server.clock.advance(.hours(25))
      for work in server.api.protocols.flatMap(\.upkeep) where work.name == "versions" {
        while try work.slice() {}
      }
    }
    server.clock.advance(.days(2))
    for _ in 0..<2 { try server.sweepDeletions() }
    #expect(try server.count("trash") == 0)
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `the counters equal a recount after any deletions, restores and purges`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 2, history: 1, cap: 150_000)
    var devices: [TestDevice] = []
    try RandomWalk.take(
      100, on: server,
      [
        .createFolder, .createDocument, .createDocument, .delete, .delete, .mark, .sweep, .choose,
        .restoreDeleted, .restoreDeleted, .restoreElsewhere, .purge, .write, .write, .move,
      ], seed: SeededGenerator.seed(of: "trash")
    ) { walk in
      devices = [walk.device]
      try server.requireRight(devices)
      try server.requireSound(devices)
    }
    server.clock.advance(.days(3))
    for _ in 0..<2 { try server.sweepDeletions() }
    #expect(try server.count("trash") == 0)
    #expect(try server.count("files WHERE trash_id IS NOT NULL") == 0)
    try server.requireRight(devices)
  }

  @Test(arguments: TestEngine.available)
  func `devices that write, delete and restore at the same time leave the counters right`(
    engine: TestEngine
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("devices seed \(seed)")
    let server = try TestServer(engine, trashFor: 30, cap: 200_000)
    let device = try server.register()
    #expect(try device.choose("purge").status == 204)
    let folders = try (0..<3).map { _ in try device.add("folder") }
    let files = try (0..<9).map { try device.add(in: folders[$0 % 3]) }
    let failures = Locked<[String]>([])
    let threads = (0..<4).map { number in
      Thread {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        let client = server.device(key: device.key, root: device.root)
        for _ in 0..<25 {
          guard let id = files.randomElement(using: &random),
            let folder = folders.randomElement(using: &random)
          else { return }
          do {
            let answer: Answer
            switch Int.random(in: 0..<7, using: &random) {
            case 0: answer = try client.delete(id)
            case 1: answer = try client.delete(folder)
            case 2, 3: answer = try client.restoreDeleted(Bool.random(using: &random) ? id : folder)
            case 4:
              let listed = try client.get("/v1/files/\(id)/versions")
              guard let version = try listed.json["versions"][0]["version"].integer else {
                continue
              }
              answer = try client.restore(id, version)
            default:
              let count = Int.random(in: 0...30_000, using: &random)
              answer = try client.put(id, Random.bytes(count), ifMatch: "*")
            }
            if answer.status == 500 || answer.status == 503 { throw UnexpectedAnswer(answer) }
            try server.sweepDeletions()
          } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [], "seed \(seed)")
    for _ in 0..<2 { try server.sweepDeletions() }
    try server.requireRight([device])
    try server.requireSound([device])
  }
}
