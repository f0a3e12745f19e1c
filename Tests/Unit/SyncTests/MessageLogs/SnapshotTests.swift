import Accounts
import Base
import Crypto
import JSON
import Logs
import Objects
import RawClient
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// A log's snapshot: content like a document's, with the cursor up to which it has the log's messages.
@Suite struct SnapshotTests {
  /// A log with a message, and the cursor behind it.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let log: KnownLog
    let cursor: String

    init(
      _ place: ContentPlace = .init(engine: .sqlite, bucket: nil), freeByteCount: Int64 = 1_000_000
    ) throws {
      server = try TestServer(
        place.engine, freeByteCount: freeByteCount, objects: place.store)
      device = try server.register()
      log = try device.createLog()
      try device.append([SentMessage(server.stamp())], to: log).requireSuccess()
      cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    }

    func put(_ content: [UInt8], ifMatch: String? = "*") throws -> Answer {
      try device.putSnapshot(content, of: log, covering: cursor, ifMatch: ifMatch)
    }

    func get(headers: [(String, String)] = []) throws -> Answer {
      try device.get("\(log.path)/snapshot", headers: headers)
    }

    func finding() throws -> UsageFinding? {
      try Recount(
        server.database, catalogue: server.catalogue,
        protocols: [FileTrees.self, MessageLogs.self]
      ).audit(device.account)
    }

    func objects() throws -> [Identifier] {
      try server.database.read { reader in
        try reader.rows("SELECT object_id FROM sync.log_snapshots ORDER BY seq") { row in
          try row.id(0)
        }
      }
    }

    func isThere(_ object: Identifier) throws -> Bool {
      try server.objects.open(object) != nil
    }
  }

  @Test(arguments: ContentPlace.all)
  func `what a device stores is what the others begin with`(place: ContentPlace) throws {
    let scene = try Scene(place)
    #expect(try scene.get().problem == "snapshot_not_found")
    let usage = try scene.device.usage()
    let content = Random.bytes(100_000)
    let stored = try scene.put(content, ifMatch: "\"0\"")
    #expect(stored.status == 200)
    let later = SentMessage(scene.server.stamp(counter: 1))
    try scene.device.append([later], to: scene.log).requireSuccess()
    let shown = try scene.device.get(scene.log.path).json["snapshot"]
    let tag = try #require(stored.header("ETag"))
    #expect(shown["version"].integer.map { "\"\($0)\"" } == tag)
    #expect(shown["bytes"].integer == 100_000)
    #expect(shown["covers"].string == scene.cursor)
    let read = try scene.get()
    #expect(read.holds(content))
    #expect(read.header("ETag") == tag)
    let part = try scene.get(headers: [("Range", "bytes=10-19")])
    #expect(part.status == 206)
    #expect(part.holds(Array(content[10..<20])))
    #expect(try scene.get(headers: [("If-None-Match", tag)]).status == 304)
    let page = try scene.device.page(of: scene.log, "cursor=\(shown["covers"].string ?? "")")
    #expect(page.messages == [later])
    #expect(try scene.device.usage() == usage + 100_000 + later.charge)
    #expect(try scene.finding()?.isRight == true)
  }

  @Test(arguments: ContentPlace.all)
  func `a snapshot replaces only the one that its device knows, and a repeat replaces nothing`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place)
    #expect(try scene.put([1], ifMatch: nil).problem == "precondition_required")
    let first = try #require(try scene.put([1], ifMatch: "\"0\"").header("ETag"))
    let stale = try scene.put([2], ifMatch: "\"0\"")
    #expect(stale.status == 412)
    #expect(try stale.json["current_version"].integer.map { "\"\($0)\"" } == first)
    let request = scene.device.sign(
      "PUT", "\(scene.log.path)/snapshot?covers=\(scene.cursor)", body: [3],
      headers: [("If-Match", first)])
    let stored = try scene.device.send(request)
    #expect(stored.status == 200)
    #expect(try scene.device.send(request).holds(stored.body))
    #expect(try scene.get().holds([3]))
    #expect(try scene.objects().count == 1)
    #expect(try scene.server.count("reservations") == 0)
  }

  @Test(arguments: ContentPlace.all)
  func `a replaced snapshot is read by who has begun to, and then deleted`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place)
    try scene.put([1]).requireSuccess()
    let old = try #require(try scene.objects().first)
    try scene.put([2, 3]).requireSuccess()
    #expect(try scene.isThere(old))
    #expect(try scene.server.count("garbage") == 1)
    scene.server.clock.advance(.minutes(11))
    try scene.server.sweeper().sweep()
    #expect(try !scene.isThere(old))
    #expect(try scene.get().holds([2, 3]))
    #expect(try scene.finding()?.isRight == true)
  }

  @Test func `a cursor that is none of the log's epoch is refused before the snapshot is sent`()
    throws
  {
    let scene = try Scene()
    let (device, log) = (scene.device, scene.log)
    let other = try device.createLog()
    let foreign = try #require(try device.page(of: other, "").json["cursor"].string)
    func problem(_ cursor: String, of log: KnownLog) throws -> String? {
      try device.putSnapshot([1], of: log, covering: cursor).problem
    }
    #expect(try problem(foreign, of: log) == "epoch_changed")
    for bad in ["", "x"] { #expect(try problem(bad, of: log) == "cursor_invalid") }
    let unknown = KnownLog(id: Random.identifier(), epoch: log.epoch)
    #expect(try problem(scene.cursor, of: unknown) == "log_not_found")
    let stranger = try scene.server.register()
    #expect(
      try stranger.putSnapshot([1], of: log, covering: scene.cursor).problem == "log_not_found")
    #expect(try stranger.get("\(log.path)/snapshot").problem == "log_not_found")
    try scene.server.suspend(device.account, since: scene.server.clock.now)
    #expect(try problem(scene.cursor, of: log) == "account_suspended")
    try scene.server.suspend(device.account, since: nil)
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1", .id(Random.identifier()))
    }
    #expect(try problem(scene.cursor, of: log) == "history_changed")
    #expect(try scene.objects() == [])
    #expect(try scene.server.count("reservations") == 0)
  }

  @Test(arguments: ContentPlace.all)
  func `above the cap a snapshot may not grow, and one that does not is taken`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place, freeByteCount: 50_000)
    #expect(try scene.put(Random.bytes(50_000)).problem == "over_cap")
    try scene.put(Random.bytes(40_000)).requireSuccess()
    try scene.server.setCap(
      scene.device.account, 10_000, plan: "free", reason: "never_subscribed")
    let refused = try scene.put(Random.bytes(40_001))
    #expect(refused.status == 507)
    #expect(try refused.problem == "over_cap")
    try scene.put(Random.bytes(40_000)).requireSuccess()
    try scene.put(Random.bytes(100)).requireSuccess()
    #expect(try scene.finding()?.isRight == true)
    #expect(try scene.server.count("reservations") == 0)
  }

  @Test(arguments: ContentPlace.all)
  func `an account full of messages stores a snapshot of all, and an epoch makes room again`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place, freeByteCount: 50_000)
    let (server, device, log) = (scene.server, scene.device, scene.log)
    for counter in 1...3 {
      let content = [UInt8](repeating: 1, count: 30_000)
      try device.append([SentMessage(server.stamp(counter: counter), content)], to: log)
        .requireSuccess()
    }
    // It does not have them all.
    #expect(try scene.put(Random.bytes(40_000)).problem == "over_cap")
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    let large = try device.putSnapshot(Random.bytes(91_000), of: log, covering: cursor)
    #expect(try large.problem == "over_cap")
    _ = try log.next(
      device.beginEpoch(of: log, covering: cursor, snapshot: Random.bytes(40_000)))
    let usage = try device.usage()
    #expect(usage == 2 * server.catalogue.metadataFeeByteCount + 40_000)
    #expect(try scene.finding()?.isRight == true)
  }

  @Test(arguments: ContentPlace.all)
  func `the snapshot of a kept epoch stays, and goes with the epoch`(place: ContentPlace) throws {
    let scene = try Scene(place)
    let (server, device) = (scene.server, scene.device)
    let epoch = try scene.log.next(
      device.beginEpoch(of: scene.log, covering: scene.cursor, snapshot: [1]))
    let cursor = try #require(try device.page(of: epoch, "").json["cursor"].string)
    try device.putSnapshot([2], of: epoch, covering: cursor).requireSuccess()
    let objects = try scene.objects()
    #expect(objects.count == 2)
    server.clock.advance(.days(89))
    try server.sweepDeletions()
    try server.sweeper().sweep()
    #expect(try objects.allSatisfy { try scene.isThere($0) })
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try objects.map { try scene.isThere($0) } == [false, true])
    #expect(try scene.finding()?.isRight == true)
    #expect(try MessageLogs.faults(of: device.account, in: server.database) == [])
  }

  @Test(arguments: ContentPlace.all)
  func `a deleted log leaves no object, and nor does an erased account`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place)
    let (server, device) = (scene.server, scene.device)
    try scene.put([1]).requireSuccess()
    let other = try device.createLog()
    let cursor = try #require(try device.page(of: other, "").json["cursor"].string)
    try device.putSnapshot([2], of: other, covering: cursor).requireSuccess()
    let objects = try scene.objects()
    let usage = try device.usage()
    #expect(try device.remove(other.path).status == 204)
    #expect(try device.usage() == usage - 1 - server.catalogue.metadataFeeByteCount)
    #expect(try scene.objects() == [objects[0]])
    #expect(try device.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try objects.map { try scene.isThere($0) } == [false, false])
    #expect(try server.count("log_snapshots") == 0)
    #expect(try server.count("garbage") == 0)
  }

  @Test(arguments: ContentPlace.all)
  func `what arrived of a snapshot goes if its log is deleted meanwhile`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place)
    let (server, device) = (scene.server, scene.device)
    let content = Random.bytes(40_000)
    let request = device.sign(
      "PUT", "\(scene.log.path)/snapshot?covers=\(scene.cursor)", body: content,
      headers: [("If-Match", "\"0\"")])
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    let client = try #require(RawClient(connectingTo: server.port))
    client.send(
      "PUT \(request.target) HTTP/1.1\r\n\(fields)Content-Length: \(content.count)\r\n\r\n")
    client.send(Array(content[..<20_000]))
    let object = try #require(wait { try? server.reservedObjects().first })
    #expect(try device.remove(scene.log.path).status == 204)
    client.send(Array(content[20_000...]))
    #expect(client.receiveResponse()?.status == 404)
    let isOver: Bool? = wait { try? server.reservedObjects().isEmpty ? true : nil }
    #expect(isOver == true)
    #expect(try server.count("garbage") == 1)
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try !scene.isThere(object))
  }
}
