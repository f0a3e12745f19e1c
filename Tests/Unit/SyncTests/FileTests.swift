import Base
import Crypto
import JSON
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct FileTests {
  @Test(arguments: TestEngine.available)
  func `a document is created, written, and read back byte for byte`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (id, created) = try device.create()
    #expect(created.status == 200)
    let content = Random.bytes(4096)
    let written = try device.put(id, content, ifMatch: "\"0\"")
    #expect(written.status == 200)
    let read = try device.get("/v1/files/\(id)/content")
    #expect(read.status == 200)
    #expect(read.holds(content))
    #expect(read.header("ETag") == written.header("ETag"))
  }

  @Test(arguments: ContentPlace.all)
  func `content beyond the inline limit goes through an object and reads back`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(
      place.engine, freeByteCount: 10_000_000, objects: place.store)
    let device = try server.register()
    let (id, _) = try device.create()
    let content = Random.bytes(1_000_000)
    #expect(try device.put(id, content, ifMatch: "\"0\"").status == 200)
    #expect(try device.get("/v1/files/\(id)/content").holds(content))
    #expect(try device.get("/v1/account").json["usage"].integer == 1_002_000)
  }

  @Test(arguments: [16_384, 16_385], ContentPlace.all)
  func `content may shrink and grow across the inline limit`(
    byteCount: Int, place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let (id, _) = try device.create()
    for count in [byteCount, 10, 20_000, byteCount] {
      let content = Random.bytes(count)
      #expect(try device.put(id, content, ifMatch: "*").status == 200)
      #expect(try device.get("/v1/files/\(id)/content").holds(content))
      #expect(try device.get("/v1/account").json["usage"].integer == Int64(2000 + count))
    }
  }

  @Test(arguments: ContentPlace.all)
  func `a replaced object is deleted, but not while a download may hold it`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let (id, _) = try device.create()
    _ = try device.put(id, Random.bytes(20_000), ifMatch: "\"0\"")
    _ = try device.put(id, Random.bytes(30_000), ifMatch: "*")
    func garbage() throws -> Int {
      try server.database.read { reader in
        try reader.rows("SELECT object_id FROM sync.garbage") { row in try row.id(0) }
      }.count
    }
    let sweeper = server.sweeper()
    try sweeper.sweep()
    #expect(try garbage() == 1)
    server.clock.advance(.minutes(11))
    try sweeper.sweep()
    #expect(try garbage() == 0)
    #expect(try device.get("/v1/files/\(id)/content").body.count == 30_000)
  }

  @Test(arguments: [100, 20_000])
  func `a write on a stale version is refused and told the current one`(byteCount: Int) throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let first = try device.put(id, Random.bytes(byteCount), ifMatch: "\"0\"")
    let version = try first.json["version"].integer
    let stale = try device.put(id, Random.bytes(byteCount), ifMatch: "\"0\"")
    #expect(stale.status == 412)
    #expect(try stale.problem == "version_changed")
    #expect(try stale.json["current_version"].integer == version)
  }

  @Test func `a write without a precondition is refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let answer = try device.send(
      device.sign("PUT", "/v1/files/\(id)/content", body: Array("x".utf8)))
    #expect(answer.status == 428)
    #expect(try answer.problem == "precondition_required")
  }

  @Test(arguments: [16_384, 2_000_000])
  func `content over the cap is refused with everything the user needs to know`(
    byteCount: Int
  ) throws {
    let server = try TestServer(freeByteCount: 10_000)
    let device = try server.register()
    let (id, _) = try device.create()
    let answer = try device.put(id, Random.bytes(byteCount), ifMatch: "\"0\"")
    #expect(answer.status == 507)
    #expect(try answer.problem == "over_cap")
    let problem = try answer.json
    #expect(problem["owner"].string == (try device.account).description)
    #expect(problem["usage"].integer == 2000)
    #expect(problem["cap"].integer == 10_000)
    #expect(problem["needed"].integer == Int64(2000 + byteCount))
    #expect(problem["reason"].string == "never_subscribed")
    #expect(problem["plans"].array?.first?["id"].string == "premium")
  }

  @Test func `a lapsed account may read and shrink but not grow`() throws {
    let server = try TestServer(freeByteCount: 5000)
    let device = try server.register()
    let (id, _) = try device.create()
    let account = try device.account
    try server.setCap(account, 1_000_000, plan: "premium", reason: "subscribed")
    #expect(try device.put(id, Random.bytes(16_000), ifMatch: "*").status == 200)
    try server.setCap(account, 5000, plan: "free", reason: "payment_failed")
    #expect(try device.get("/v1/files/\(id)/content").body.count == 16_000)
    let grown = try device.put(id, Random.bytes(16_001), ifMatch: "*")
    #expect(try grown.json["reason"].string == "payment_failed")
    #expect(try device.put(id, Random.bytes(15_999), ifMatch: "*").status == 200)
  }

  @Test(arguments: ContentPlace.all)
  func `a range of large content is sent alone`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let (id, _) = try device.create()
    let content = Random.bytes(50_000)
    _ = try device.put(id, content, ifMatch: "*")
    let part = try device.get("/v1/files/\(id)/content", headers: [("Range", "bytes=100-199")])
    #expect(part.status == 206)
    #expect(part.body == Array(content[100..<200]))
    #expect(part.header("Content-Range") == "bytes 100-199/50000")
    let beyond = try device.get("/v1/files/\(id)/content", headers: [("Range", "bytes=50000-")])
    #expect(beyond.status == 416)
  }

  @Test func `content the client already has is not sent again`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let tag = try device.put(id, Random.bytes(100), ifMatch: "*").header("ETag") ?? ""
    let answer = try device.get("/v1/files/\(id)/content", headers: [("If-None-Match", tag)])
    #expect(answer.status == 304)
    #expect(answer.body.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a deleted document's content is gone at once, also beneath a deleted folder`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let (beneath, _) = try device.create(parent: folder)
    let (alone, _) = try device.create()
    for id in [beneath, alone] {
      #expect(try device.put(id, Random.bytes(100), ifMatch: "*").status == 200)
    }
    #expect(try device.delete(alone).status == 200)
    #expect(try device.delete(folder).status == 200)
    for id in [beneath, alone] {
      let read = try device.get("/v1/files/\(id)/content")
      #expect(read.status == 410)
      #expect(try read.problem == "file_deleted")
      #expect(try device.put(id, [1], ifMatch: "*").problem == "file_deleted")
      #expect(try device.put(id, Random.bytes(20_000), ifMatch: "*").problem == "file_deleted")
    }
  }

  @Test(arguments: ContentPlace.all)
  func `a deleted document's object is collected`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let (id, _) = try device.create(parent: folder)
    _ = try device.put(id, Random.bytes(20_000), ifMatch: "*")
    #expect(try device.delete(folder).status == 200)
    try server.sweepDeletions()
    func objects() throws -> [Identifier] {
      try server.database.read { reader in
        try reader.rows("SELECT object_id FROM sync.garbage") { row in try row.id(0) }
      }
    }
    let object = try #require(try objects().first)
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try objects() == [])
    let isThere = try server.objects.open(object) != nil
    #expect(!isThere)
  }

  @Test func `somebody else's file looks like none`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let bob = try server.register()
    let (id, _) = try alice.create()
    #expect(try bob.get("/v1/files/\(id)").problem == "file_not_found")
    #expect(try bob.get("/v1/files/\(id)/content").problem == "file_not_found")
    #expect(try bob.put(id, [1], ifMatch: "*").problem == "file_not_found")
    #expect(try bob.create(parent: alice.root).answer.rules == ["parent_not_found"])
    #expect(try bob.create(id: id).answer.rules == ["id_taken"])
  }

  @Test func `siblings have different names`() throws {
    let server = try TestServer()
    let device = try server.register()
    let hmac = Random.bytes(32)
    #expect(try device.create(hmac: hmac).answer.status == 200)
    #expect(try device.create(hmac: hmac).answer.rules == ["name_taken"])
    let (folder, _) = try device.create("folder")
    #expect(try device.create(parent: folder, hmac: hmac).answer.status == 200)
  }

  @Test func `only folders have children and only documents have content`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (document, _) = try device.create()
    #expect(try device.create(parent: document).answer.rules == ["parent_not_folder"])
    #expect(try device.put(device.root, [1], ifMatch: "*").problem == "not_a_document")
  }

  @Test(arguments: [
    #"{}"#, #"[]"#, #"{"id":1}"#, #"{"id":"x"}"#, "", "{", #"{"id":"a","id":"b"}"#,
    String(repeating: "[", count: 10_000), "\u{FF}",
  ])
  func `a malformed record is refused with the member and the rule`(body: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.send(device.sign("POST", "/v1/files", body: Array(body.utf8)))
    #expect(answer.status == 400)
    #expect(try answer.problem == "body_invalid")
  }
}
