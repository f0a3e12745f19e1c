import Accounts
import Base
import Crypto
import JSON
import Objects
import Storage
import Sync
import TestDevices
import Tiers

extension APIStories {
  // MARK: Batches

  func changeFiles() throws {
    let server = try self.server()
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let (document, _) = try device.create(parent: folder)
    _ = try device.record(device.root)
    _ = try device.record(folder)
    let old = try device.record(document)
    _ = try device.rename(document)
    _ = try device.batch(files: [old.change { $0.name = .init() }])
    _ = try device.batch(files: [device.record(document).change { $0.type = "folder" }])
    _ = try device.move(document, to: Random.identifier())
    _ = try device.post("/v1/files", [:])
    _ = try device.post("/v1/files", ["author": "x", "files": []])
    let many = [FileChange](repeating: try device.creation(), count: 501)
    _ = try device.batch(files: many)
    _ = try device.delete(folder)
    try server.sweepDeletions()
    _ = try device.record(document)
    _ = try device.updates()
    _ = try device.rename(document)
  }

  func keepVersions() throws {
    let server = try self.server(freeLimits: .init(historyDays: 30))
    let device = try server.register()
    let document = try device.add()
    let versions = try (1...3).map { try device.write(document, Random.bytes($0)) }
    _ = try device.get("/v1/files/\(document)/versions?limit=1")
    _ = try device.get("/v1/files/\(document)/versions?limit=0")
    _ = try device.get("/v1/files/\(document)/content?version=\(versions[0])")
    _ = try device.get("/v1/files/\(document)/content?version=1000")
    _ = try device.restore(document, 1000)
    _ = try device.restore(document, versions[0], ifMatch: "\"1\"")
    _ = try device.restore(document, versions[0])
    _ = try device.get("/v1/files/\(device.root)/versions")
    for choice in ["purge", "keep", "ask"] { _ = try device.choose(choice) }
    try device.delete(document).requireSuccess()
    _ = try device.get("/v1/files/\(document)/versions")
  }

  func capFolders() throws {
    let server = try self.server()
    let (device, other) = (try server.register(), try server.register())
    let folder = try device.add("folder")
    let document = try device.add(in: folder)
    try device.share(folder, with: other, mode: "write")
    for bytes in [JSONValue.integer(5000), .integer(-1), .null, .integer(2000)] {
      _ = try device.capFolder(folder, bytes)
    }
    _ = try other.get("/v1/files/\(folder)/cap")
    _ = try device.get("/v1/files/\(document)/cap")
    _ = try other.capFolder(folder, .null)
    _ = try device.capFolder(document, .integer(1))
    _ = try device.capFolder(Random.identifier(), .integer(1))
    _ = try other.put(document, Random.bytes(1001), ifMatch: "*")
    _ = try device.create(parent: folder)
    try device.delete(folder).requireSuccess()
    _ = try device.capFolder(folder, .null)
    _ = try device.get("/v1/files/\(folder)/cap")
  }

  func keepTrash() throws {
    let server = try self.server(freeLimits: .init(trashDays: 30))
    let device = try server.register()
    let folder = try device.add("folder")
    let hmac = Random.bytes(32)
    let documents = [try device.add(in: folder, hmac: hmac), try device.add(in: folder)]
    for id in documents { try device.delete(id).requireSuccess() }
    _ = try device.get("/v1/trash?limit=1")
    _ = try device.get("/v1/trash?limit=x")
    _ = try device.add(in: folder, hmac: hmac)
    _ = try device.restoreDeleted(documents[0], signedBy: Ed25519PrivateKey()) { _ in }
    _ = try device.restoreDeleted(documents[0]) { $0.deleted = true }
    for id in documents + documents { _ = try device.restoreDeleted(id) }
    _ = try device.restoreDeleted(documents[0]) { $0.parent = Random.identifier() }
    _ = try device.restoreDeleted(documents[0]) { $0.name = .init() }
    _ = try device.restoreDeleted(folder)
    try device.delete(folder).requireSuccess()
    _ = try device.restoreDeleted(documents[0])
    for id in [documents[0], device.root] { _ = try device.purge(id) }
    try server.suspend(try device.account, since: server.clock.now)
    _ = try device.restoreDeleted(folder)
  }

  func meetLimits() throws {
    var limits = SyncLimits()
    limits.recordCountMax = 2
    limits.invitationsPerDay = 1
    let server = try server(limits: limits)
    let alice = try server.register()
    let (document, _) = try alice.create()
    _ = try alice.create()
    for _ in 0..<2 { _ = try alice.grant(document, to: server.register().account) }

    let full = try self.server(freeByteCount: 2500)
    let owner = try full.register()
    let writer = try full.register()
    let (folder, _) = try owner.create("folder")
    _ = try owner.create()
    _ = try owner.grant(folder, to: writer.account, mode: "write")
    try full.setCap(writer.account, 10_000, plan: "premium", reason: "subscribed")
    _ = try writer.accept(folder)
    _ = try writer.create(parent: folder, owner: owner.account)
  }

  func meetSuspension() throws {
    let server = try self.server()
    let device = try server.register()
    let (document, _) = try device.create()
    try server.suspend(device.account, since: server.clock.now)
    _ = try device.create()
    _ = try device.put(document, [1], ifMatch: "*")
    try server.suspend(device.account, since: nil)
    _ = try device.put(document, [1], ifMatch: "*")
  }

  func meetDeletion() throws {
    let server = try self.server()
    let device = try server.register()
    _ = try device.send(device.sign("DELETE", "/v1/account"))
    _ = try device.create()
  }

  // MARK: Sharing

  func share() throws {
    let server = try self.server()
    let alice = try server.register()
    let bob = try server.register()
    let carol = try server.register()
    let (folder, _) = try alice.create("folder")
    let (document, _) = try alice.create(parent: folder)
    let link = try alice.share(folder, with: bob, mode: "write")
    _ = try alice.grant(document, to: carol.account)
    let cursor = try bob.updates(limit: 1).json["cursor"].string
    for device in [alice, bob, carol] {
      _ = try device.updates()
      for file in [folder, document] { _ = try device.get("/v1/files/\(file)") }
    }
    _ = try bob.record(link)
    _ = try bob.create("link")
    _ = try alice.grant(folder, to: bob.account)
    _ = try alice.grant(folder, to: Random.identifier())
    _ = try bob.put(document, [1], ifMatch: "\"0\"")
    _ = try carol.put(document, [1], ifMatch: "*")
    _ = try carol.reject(document)
    let (inner, _) = try alice.create("folder", parent: folder)
    _ = try bob.updates(since: cursor)
    let before = try bob.updates().json["cursor"].string
    _ = try alice.move(inner, to: alice.root)
    _ = try bob.updates(since: before)
    _ = try alice.revoke(folder, from: bob.account)
    _ = try bob.updates(since: before)
    _ = try bob.updates()
    _ = try alice.record(folder)
  }

  // MARK: Content

  func readAndWriteContent() throws {
    let server = try self.server()
    let device = try server.register()
    let stranger = try server.register()
    let (folder, _) = try device.create("folder")
    let (document, _) = try device.create()
    let path = "/v1/files/\(document)/content"
    _ = try device.get(path)
    _ = try device.put(document, [1, 2, 3], ifMatch: "\"0\"")
    _ = try device.put(document, [1, 2, 3], ifMatch: "\"0\"")
    let tag = try device.get(path).header("ETag") ?? ""
    for headers in [
      ("Range", "bytes=1-"), ("Range", "bytes=7-"), ("If-None-Match", tag), ("If-Match", "\"0\""),
      ("If-Match", "none"),
    ] {
      _ = try device.get(path, headers: [headers])
    }
    _ = try device.send(device.sign("HEAD", path))
    _ = try device.send(device.sign("PUT", path, body: [1]))
    _ = try device.put(document, [1], ifMatch: "none")
    _ = try device.put(document, Random.bytes(30_000), ifMatch: "*")
    _ = try device.get(path)
    _ = try device.put(document, Random.bytes(2_000_000), ifMatch: "*")
    _ = try device.put(folder, [1], ifMatch: "*")
    _ = try device.get("/v1/files/\(folder)/content")
    _ = try stranger.get(path)
    _ = try stranger.put(document, [1], ifMatch: "*")
    try server.holdUploads(16, of: device, by: device)
    _ = try device.put(document, Random.bytes(30_000), ifMatch: "*")
    _ = try device.delete(document)
    _ = try device.get(path)
    _ = try device.put(document, [1], ifMatch: "*")
  }

  func loseContent() throws {
    let server = try self.server()
    let device = try server.register()
    let (document, _) = try device.create()
    _ = try device.put(document, Random.bytes(30_000), ifMatch: "*")
    let objects = try server.database.read { reader in
      try reader.rows("SELECT object_id FROM sync.files WHERE object_id IS NOT NULL") { row in
        try row.id(0)
      }
    }
    for object in objects { try server.objects.delete(object) }
    _ = try device.get("/v1/files/\(document)/content")
  }

  // MARK: Updates

  func pull() throws {
    let server = try self.server()
    let device = try server.register()
    let cursor = try device.updates(limit: 1).json["cursor"].string
    _ = try device.updates(since: "none")
    _ = try device.updates(limit: 0)
    server.clock.advance(.days(91))
    _ = try device.updates(since: cursor)
    let fresh = try device.updates().json["cursor"].string
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1 WHERE id = 1", .id(Random.identifier()))
    }
    _ = try device.updates(since: fresh)
  }
}

extension TestServer {
  /// Reserves places for uploads of a device, as if they were under way.
  func holdUploads(_ count: Int, of owner: TestDevice, by device: TestDevice) throws {
    let account = try owner.account
    let (key, later) = (device.key.publicKey.bytes, clock.now + .hours(1))
    try database.write(for: nil) { transaction in
      for _ in 0..<count {
        _ = try transaction.execute(
          """
          INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
          VALUES ($1, $2, $3, 1, $4)
          """, .id(Random.identifier()), .id(account), .blob(key), .instant(later))
      }
    }
  }
}
