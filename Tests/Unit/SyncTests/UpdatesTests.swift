import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct UpdatesTests {
  /// Pulls page after page and returns the last known state of each file.
  private func pull(
    _ device: TestDevice, since: String?, limit: Int
  ) throws -> (files: [String: Int64], cursor: String) {
    var files: [String: Int64] = [:]
    var cursor = since
    while true {
      let query = cursor.map { "?since=\($0)&limit=\(limit)" } ?? "?limit=\(limit)"
      let page = try device.get("/v1/updates\(query)").json
      for change in page["changes"].array ?? [] {
        let file = change["file"]
        files[file["id"].string ?? ""] = file["version"].integer
      }
      cursor = page["cursor"].string
      guard page["more"].bool == true else { return (files, cursor ?? "") }
    }
  }

  @Test(arguments: TestEngine.available, [1, 3, 1000])
  func `every change is seen once, in pages of any size`(engine: TestEngine, limit: Int) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    var ids: Set<String> = [device.root.description]
    for _ in 0..<5 { ids.insert(try device.create().id.description) }
    let first = try pull(device, since: nil, limit: limit)
    #expect(Set(first.files.keys) == ids)
    let (changed, _) = try device.create()
    _ = try device.put(changed, [1, 2, 3], ifMatch: "\"0\"")
    let second = try pull(device, since: first.cursor, limit: limit)
    #expect(Array(second.files.keys) == [changed.description])
    let third = try pull(device, since: second.cursor, limit: limit)
    #expect(third.files.isEmpty)
  }

  @Test(arguments: ["x", "AAAA", ""])
  func `a cursor that is none of ours is refused`(cursor: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.get("/v1/updates?since=\(cursor)")
    #expect(answer.status == 400)
    #expect(try answer.problem == "cursor_invalid")
  }

  @Test func `another account's cursor is refused`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let bob = try server.register()
    let cursor = try alice.get("/v1/updates").json["cursor"].string ?? ""
    #expect(try bob.get("/v1/updates?since=\(cursor)").problem == "cursor_invalid")
  }

  @Test(arguments: TestEngine.available)
  func `after a restore no content has a version that another had before`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = [try server.register(), try server.register()]
    let written = try devices.map { device in
      let (id, _) = try device.create()
      return (id, try device.put(id, [1], ifMatch: "\"0\"").json["version"].integer ?? 0)
    }
    try server.renewHistory()
    for (device, (id, version)) in zip(devices, written) {
      // A device that wrote after the backup knows the versions that came next.
      let lost = try device.put(id, [2], ifMatch: "\"\(version + 1)\"")
      #expect(try lost.problem == "version_changed")
      let next = try device.put(id, [3], ifMatch: "\"\(version)\"").json["version"].integer ?? 0
      #expect(next > version + 1_000_000)
      let late = try device.put(id, [4], ifMatch: "\"\(version + 1)\"")
      #expect(try late.problem == "version_changed")
    }
  }

  @Test(arguments: TestEngine.available)
  func `after a restore no key backup and no link has a version that another had before`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (kept, lost) = (Random.identifier(), Random.identifier())
    try device.putBackup([1]).requireSuccess()
    try device.publish(kept, [1]).requireMade()
    try server.renewHistory()
    /// By a device that wrote after the backup: it knows the versions that came next.
    func expectRefusals() throws {
      let answers = [
        try device.putBackup([2], ifMatch: "\"2\""),
        try device.publish(kept, [2], ifMatch: "\"2\""),
        try device.publish(lost, [2], ifMatch: "\"1\""),
      ]
      for answer in answers { #expect(try answer.problem == "version_changed") }
    }
    try expectRefusals()
    // What the backup has is still at its version.
    try device.putBackup([3], ifMatch: "\"1\"").requireSuccess()
    try device.publish(kept, [3], ifMatch: "\"1\"").requireSuccess()
    try device.publish(lost, [3]).requireMade()
    try expectRefusals()
    #expect(try device.get("/v1/key-backup").holds([3]))
    #expect(try device.get("/v1/key-backup?version=1").holds([1]))
  }

  @Test func `after a restore every client starts over`() throws {
    let server = try TestServer()
    let device = try server.register()
    let cursor = try device.get("/v1/updates").json["cursor"].string ?? ""
    try server.renewHistory()
    let answer = try device.get("/v1/updates?since=\(cursor)")
    #expect(answer.status == 410)
    #expect(try answer.problem == "history_changed")
  }

  @Test func `a client that was away longer than deletions are kept starts over`() throws {
    let server = try TestServer()
    let device = try server.register()
    var replica = Replica(device)
    try replica.pull()
    server.clock.advance(server.limits.deletionHorizon)
    #expect(try device.updates(since: replica.cursor).status == 200)
    server.clock.advance(.milliseconds(1))
    let answer = try device.updates(since: replica.cursor)
    #expect(answer.status == 410)
    #expect(try answer.problem == "cursor_expired")
    try replica.pull()
    #expect(replica.restartCount == 1)
    #expect(replica.ids == [device.root])
  }

  @Test(arguments: TestEngine.available)
  func `a deletion is told until every client knows of it, then forgotten`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let (document, _) = try device.create(parent: folder)
    _ = try device.delete(folder)
    try server.sweepDeletions()
    var before = Replica(device)
    try before.pull()
    #expect(before.records[folder]?.deletedWith == nil)
    #expect(before.records[document]?.deletedWith == folder)
    #expect(before.ids == [device.root])
    server.clock.advance(server.limits.deletionHorizon)
    server.clock.advance(.days(2))
    try server.sweeper().sweep()
    var after = Replica(device)
    try after.pull()
    #expect(Set(after.records.keys) == [device.root])
  }

  /// The deletions were reported to no one while the folder was away. Deleted files are not reported again
  /// when the folder comes back.
  @Test(arguments: TestEngine.available, [false, true])
  func `whoever read half of a folder's leaving when it came back knows what is deleted in it`(
    engine: TestEngine, isSwept: Bool
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let shared = try alice.add("folder")
    let folder = try alice.add("folder", in: shared)
    let (document, inner) = (try alice.add(in: folder), try alice.add("folder", in: folder))
    let child = try alice.add(in: inner)
    let link = try alice.share(shared, with: bob)
    var replica = try bob.pulled()
    #expect(replica.ids.isSuperset(of: [folder, document, inner, child]))
    for file in [document, inner] { try alice.delete(file).requireSuccess() }
    if isSwept { try server.sweepDeletions() }
    try alice.move(folder, to: alice.root).requireSuccess()
    // Past the deletions, and up to the first file that left.
    try replica.pullPage(limit: 1)
    #expect(replica.records[folder] == nil)
    #expect(!replica.isComplete)
    try alice.move(folder, to: shared).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [bob.root, link, shared, folder])
    #expect(try replica.records == bob.pulled().records)
  }

  @Test(arguments: TestEngine.available, [1, 4])
  func `whoever pulls while others write ends with all that is there`(
    engine: TestEngine, limit: Int
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let trouble = Locked(0)
    let running = Locked(3)
    let writers = (0..<3).map { _ in
      Thread {
        let writer = server.device(key: device.key, root: device.root)
        for index in 0..<12 {
          let created = try? writer.create(index % 4 == 0 ? "folder" : "document")
          guard let created, created.answer.status == 200 else {
            trouble.withLock { $0 += 1 }
            continue
          }
          if index % 3 == 0, (try? writer.rename(created.id).status) != 200 {
            trouble.withLock { $0 += 1 }
          }
          if index % 5 == 0, (try? writer.delete(created.id).status) != 200 {
            trouble.withLock { $0 += 1 }
          }
        }
        running.withLock { $0 -= 1 }
      }
    }
    var replica = Replica(device)
    while running.withLock({ $0 }) > 0 { try replica.pullPage(limit: limit) }
    for writer in writers { writer.join() }
    try replica.pull(limit: limit)
    var fresh = Replica(device)
    try fresh.pull()
    #expect(trouble.withLock { $0 } == 0)
    #expect(replica.troubles == [])
    #expect(replica.records == fresh.records)
    #expect(replica.ids.count == 1 + 3 * 9)
  }

  @Test func `a record is told with its author's signature as it was given`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    _ = try device.rename(id)
    let seen = try device.record(id)
    #expect(seen.isSignatureValid == true)
    #expect(seen.author == device.key.publicKey.bytes)
    var replica = Replica(device)
    try replica.pull()
    #expect(replica.records[id] == seen)
    #expect(replica.records[device.root]?.isSignatureValid == nil)
  }

  @Test(arguments: ["0", "1001", "-1", "x", "", "+5", "05", "5.0", "1&limit=2", "1&limit=1"])
  func `a page size outside its range, spelled otherwise or twice is refused`(limit: String) throws
  {
    let server = try TestServer()
    let device = try server.register()
    #expect(try device.get("/v1/updates?limit=\(limit)").problem == "limit_invalid")
  }

  @Test func `two cursors are none`() throws {
    let server = try TestServer()
    let device = try server.register()
    let cursor = try #require(try device.get("/v1/updates").json["cursor"].string)
    #expect(try device.get("/v1/updates?since=\(cursor)").status == 200)
    #expect(
      try device.get("/v1/updates?since=\(cursor)&since=\(cursor)").problem == "cursor_invalid")
  }
}
