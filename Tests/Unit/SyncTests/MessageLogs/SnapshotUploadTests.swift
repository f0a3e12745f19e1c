import Accounts
import Base
import Crypto
import Glibc
import JSON
import Logs
import Objects
import RawClient
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// A log's snapshot in parts: the uploads of documents (`ResumableUploadTests`), judged as a log judges.
@Suite struct SnapshotUploadTests {
  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `a snapshot in parts is what the others begin with, at once and whole`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store), dialect)
    let usage = try scene.device.usage()
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    #expect(try scene.offset() == 20_000)
    #expect(try scene.device.get(scene.path).problem == "snapshot_not_found")
    let later = SentMessage(scene.server.stamp(counter: 1))
    try scene.device.append([later], to: scene.log).requireSuccess()
    let last = try scene.append(20_000..<50_000)
    #expect(last.status == (dialect.testDescription == "tus" ? 204 : 200))
    #expect(try scene.isStored())
    let shown = try scene.device.get(scene.log.path).json["snapshot"]
    #expect(shown["version"].integer.map { "\"\($0)\"" } == last.header("ETag"))
    #expect(shown["bytes"].integer == 50_000)
    let cursor = try #require(shown["covers"].string)
    #expect(cursor == scene.cursor)
    #expect(try scene.device.page(of: scene.log, "cursor=\(cursor)").messages == [later])
    #expect(try scene.device.usage() == usage + 50_000 + later.charge)
    #expect(try scene.server.reservedObjects() == [])
    try UploadKind.snapshot.requireRight(scene)
    try scene.expectAgain(last, 20_000..<50_000)
  }

  @Test(arguments: TestEngine.available)
  func `what arrived before a connection broke is kept, and the rest follows`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(snapshotOn: TestServer(engine))
    try scene.create(first: 10_000)
    let client = try scene.appendPart(10_000..<30_000, of: 10_000..<50_000)
    usleep(200_000)
    client.reset()
    let offset = try #require(wait { try? scene.offset().flatMap { $0 > 10_000 ? $0 : nil } })
    #expect(offset <= 30_000)
    #expect(try scene.append(offset..<50_000).status == 200)
    #expect(try scene.isStored())
  }

  // MARK: Creation

  @Test(arguments: [UploadScene.Dialect.draft(8), .tus])
  func `what a PUT refuses, the creating request refuses before the first byte`(
    dialect: UploadScene.Dialect
  ) throws {
    let scene = try UploadScene(
      snapshotOn: TestServer(freeByteCount: 60_000), dialect, byteCount: 50_000)
    let (device, query) = (scene.device, scene.query)
    func problem(_ request: TestDevice.Signed) throws -> String? {
      try device.send(request).problem
    }
    let other = try device.createLog()
    let foreign = try #require(try device.page(of: other, "").json["cursor"].string)
    for (cursor, expected) in [(foreign, "epoch_changed"), ("", "cursor_invalid")] {
      scene.query = "?covers=\(cursor)"
      #expect(try problem(scene.creation()) == expected)
    }
    scene.query = ""
    #expect(try problem(scene.creation()) == "cursor_invalid")
    scene.query = query
    #expect(try problem(scene.creation(ifMatch: "\"7\"")) == "version_changed")
    #expect(try problem(scene.creation(length: "70000")) == "over_cap")
    let stranger = try scene.server.register()
    #expect(try stranger.send(scene.creation(by: stranger)).problem == "log_not_found")
    try device.shareLog(scene.log, with: stranger, mode: "write")
    #expect(try stranger.send(scene.creation(by: stranger)).problem == "not_permitted")
    #expect(try scene.server.reservedObjects() == [])
    try scene.create()
    // The upload holds its room.
    #expect(try problem(scene.creation(digest: UploadScene.digest([1]))) == "over_cap")
  }

  // MARK: Ends

  @Test(arguments: ContentPlace.all)
  func `an epoch that began meanwhile ends the upload, and keeps its own snapshot`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    let epoch = try scene.log.next(
      scene.device.beginEpoch(of: scene.log, covering: scene.cursor, snapshot: [1, 2]))
    let refused = try scene.append(20_000..<50_000)
    #expect(refused.status == 409)
    #expect(try refused.problem == "epoch_changed")
    #expect(try refused.json["epoch"].string == epoch.epoch.description)
    #expect(try scene.append(20_000..<50_000).problem == "epoch_changed")
    #expect(try scene.device.get(scene.path).holds([1, 2]))
    try scene.expectNothingLeft()
  }

  @Test(arguments: ContentPlace.all)
  func `a snapshot that another device stored meanwhile ends the upload`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    try scene.device.putSnapshot([3], of: scene.log, covering: scene.cursor).requireSuccess()
    #expect(try scene.append(20_000..<50_000).problem == "version_changed")
    #expect(try scene.device.get(scene.path).holds([3]))
    try scene.expectNothingLeft()
  }

  @Test(arguments: ContentPlace.all)
  func `a log that was deleted meanwhile ends the upload`(place: ContentPlace) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try scene.device.remove(scene.log.path).status == 204)
    #expect(try scene.append(20_000..<50_000).problem == "log_not_found")
    try scene.expectNothingLeft()
  }

  @Test(arguments: ContentPlace.all)
  func `an erased account leaves nothing of its upload`(place: ContentPlace) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try scene.device.remove("/v1/account").status == 202)
    scene.server.clock.advance(.days(8))
    try scene.server.sweeper().sweepErasures()
    #expect(try scene.server.count("uploads") == 0)
    try scene.expectNothingLeft()
  }

  @Test(arguments: ContentPlace.all)
  func `an upload under way is told of by its bytes, and is no orphan`(place: ContentPlace) throws {
    let scene = try UploadScene(snapshotOn: TestServer(place.engine, objects: place.store))
    let (server, device) = (scene.server, scene.device)
    try scene.create(first: 20_000)
    let account = try device.account
    let explanation = try server.database.read { reader in
      try UsageExplanation(
        reader, account, root: device.root, fee: server.catalogue.metadataFeeByteCount, limit: 10,
        now: server.clock.now)
    }
    #expect(explanation.uploadByteCount == 50_000)
    let audit = OrphanAudit(server.database, server.objects)
    #expect(try audit.leftovers(before: .distantFuture) == [])
    #expect(try scene.append(20_000..<50_000).status == 200)
  }
}
