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

/// Deleted files that are kept: how they are listed, restored, charged and purged.
@Suite struct TrashTests {
  private let small = Random.bytes(100)
  private let large = Random.bytes(20_000)

  @Test(arguments: ContentPlace.all)
  func `a deleted folder is kept with everything below it, and restored as it was`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, trashFor: 30, objects: place.store)
    let device = try server.register()
    let folder = try device.add("folder")
    let inner = try device.add("folder", in: folder)
    let documents = try [folder, inner, inner].map { try device.add(in: $0) }
    _ = try device.write(documents[0], small)
    _ = try device.write(documents[1], large)
    _ = try device.write(documents[1], small)
    let before = try device.pulled().records
    let usage = try device.usage()
    var replica = try device.pulled()
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try replica.pull()
    #expect(try device.usage() == usage)
    let parts = try device.get("/v1/account").json["usage_parts"]
    #expect(parts["trash"].integer == 5200)
    #expect(parts["history"].integer == 20_000)
    #expect(parts["live"].integer == 1000)
    let listed = try device.get("/v1/trash").json["trash"].array ?? []
    #expect(listed.count == 1)
    #expect(listed.first?["file"]["id"].string == folder.description)
    #expect(listed.first?["records"].integer == 5)
    #expect(listed.first?["bytes"].integer == 5200)
    #expect(
      listed.first?["deleted_by"].string == Base64.standard.encode(device.key.publicKey.bytes))
    #expect(listed.first?["until"].string == (server.clock.now + .days(30)).description)
    try server.requireRight([device])
    for id in [folder, documents[1]] {
      #expect(try device.get("/v1/files/\(id)/content").problem == "file_deleted")
    }
    try device.restoreDeleted(folder).requireDone()
    try server.sweepDeletions()
    try replica.pull()
    let after = try device.pulled().records
    for (id, record) in before {
      #expect(after[id]?.parent == record.parent && after[id]?.deleted == false)
      #expect(after[id]?.contentVersion == record.contentVersion)
      #expect(after[id]?.contentByteCount == record.contentByteCount)
      #expect(replica.records[id]?.deleted == false)
    }
    #expect(try device.get("/v1/files/\(documents[1])/content").holds(small))
    #expect(try device.versions(documents[1]).count == 1)
    #expect(try device.usage() == usage)
    #expect(try device.get("/v1/trash").json["trash"].array?.isEmpty == true)
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: ContentPlace.all)
  func `without days in the plan a deletion is final`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, trashFor: nil, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    _ = try device.write(id, large)
    try device.delete(id).requireSuccess()
    try server.sweepDeletions()
    #expect(try device.usage() == 1000)
    #expect(try device.restoreDeleted(id).problem == "trash_not_found")
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `a taken name and a deleted folder are named, and nothing is restored`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let device = try server.register()
    let folder = try device.add("folder")
    let hmac = Random.bytes(32)
    let id = try device.add(in: folder, hmac: hmac)
    try device.delete(id).requireSuccess()
    let other = try device.add(in: folder, hmac: hmac)
    let taken = try device.restoreDeleted(id)
    #expect(try (taken.status, taken.problem) == (409, "name_taken"))
    #expect(try taken.json["file"].string == other.description)
    try device.delete(folder).requireSuccess()
    #expect(try device.restoreDeleted(other).problem == "trash_not_found")
    let gone = try device.restoreDeleted(id)
    #expect(try (gone.status, gone.problem) == (409, "parent_gone"))
    #expect(try gone.json["parent"].string == folder.description)
    try server.sweepDeletions()
    try device.restoreDeleted(folder).requireDone()
    try server.sweepDeletions()
    #expect(try device.restoreDeleted(id).problem == "name_taken")
    try device.rename(other).requireSuccess()
    try device.restoreDeleted(id).requireDone()
    try server.sweepDeletions()
    #expect(try device.record(id).deleted == false)
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: ContentPlace.all)
  func `what a sharee deletes is in the owner's trash alone, and comes back to both`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, trashFor: 30, objects: place.store)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let inner = try alice.add("folder", in: folder)
    let id = try alice.add(in: inner)
    _ = try alice.write(id, large)
    try alice.share(folder, with: bob, mode: "write")
    var replica = try bob.pulled()
    try bob.delete(inner).requireSuccess()
    try server.sweepDeletions()
    try replica.pull()
    #expect(replica.records[id]?.deleted != false)
    #expect(try bob.get("/v1/trash").json["trash"].array?.isEmpty == true)
    #expect(try bob.restoreDeleted(inner).problem == "trash_not_found")
    #expect(try bob.purge(inner).problem == "trash_not_found")
    let entry = try #require(try alice.get("/v1/trash").json["trash"].array?.first)
    #expect(entry["deleted_by"].string == Base64.standard.encode(bob.key.publicKey.bytes))
    try alice.restoreDeleted(inner).requireDone()
    try server.sweepDeletions()
    try replica.pull()
    #expect(replica.records[id]?.deleted == false)
    #expect(try bob.get("/v1/files/\(id)/content").holds(large))
    try server.requireRight([alice, bob])
    try server.requireSound([alice, bob])
  }

  @Test(arguments: TestEngine.available)
  func `a folder that is being marked or restored is not restored again`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let device = try server.register()
    let folder = try device.add("folder")
    let ids = try (0..<5).map { _ in try device.add(in: folder) }
    try device.delete(folder).requireSuccess()
    #expect(try server.markDeleted(count: 2))
    let busy = try device.restoreDeleted(folder)
    #expect(try (busy.status, busy.problem) == (409, "trash_busy"))
    #expect(busy.header("Retry-After") != nil)
    try server.sweepDeletions()
    try device.restoreDeleted(folder).requireDone()
    #expect(try device.restoreDeleted(folder).problem == "trash_busy")
    // The deletion wins over a restore under way.
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try server.requireRight([device])
    try device.restoreDeleted(folder).requireDone()
    try server.sweepDeletions()
    for id in ids { #expect(try device.record(id).deleted == false) }
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: TestEngine.available)
  func `a file whose name was taken meanwhile stays in the trash until it is free`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 30)
    let device = try server.register()
    let folder = try device.add("folder")
    let hmac = Random.bytes(32)
    let ids = [try device.add(in: folder, hmac: hmac), try device.add(in: folder)]
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    try device.restoreDeleted(folder).requireDone()
    let newer = try device.add(in: folder, hmac: hmac)
    try server.sweepDeletions()
    #expect(try device.record(ids[0]).deleted)
    #expect(try device.record(ids[1]).deleted == false)
    let left = try device.get("/v1/trash").json["trash"].array ?? []
    #expect(left.first?["records"].integer == 1)
    try device.delete(newer).requireSuccess()
    try device.restoreDeleted(folder).requireDone()
    try server.sweepDeletions()
    #expect(try device.record(ids[0]).deleted == false)
    try server.requireRight([device])
    try server.requireSound([device])
  }

  @Test(arguments: ContentPlace.all)
  func `trash is listed in pages, and goes with its account`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, trashFor: 30, objects: place.store)
    let device = try server.register()
    let ids = try (0..<5).map { _ in try device.add() }
    for id in ids {
      _ = try device.write(id, large)
      try device.delete(id).requireSuccess()
    }
    var (seen, before) = ([String](), "")
    repeat {
      let page = try device.get("/v1/trash?limit=2\(before)").json
      seen += (page["trash"].array ?? []).compactMap { $0["file"]["id"].string }
      before = page["next"].integer.map { "&before=\($0)" } ?? ""
    } while before != "" && seen.count < 10
    #expect(seen == ids.reversed().map(\.description))
    #expect(try device.send(device.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(server.limits.deletionDelay)
    try server.sweeper().sweepErasures()
    #expect(try server.count("trash") == 0)
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.objectCount() == 0)
  }
}
