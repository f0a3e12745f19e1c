import Base
import Crypto
import Glibc
import Objects
import RawClient
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Resumable uploads, in each protocol that clients speak.
@Suite struct ResumableUploadTests {
  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `an upload in parts becomes the document's content, at once and whole`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store), dialect)
    let created = try scene.create()
    #expect(created.header("Upload-Offset") == "0")
    #expect(try scene.append(0..<20_000).status == 204)
    #expect(try scene.offset() == 20_000)
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").body.isEmpty)
    let last = try scene.append(20_000..<50_000)
    #expect(last.status == (dialect.testDescription == "tus" ? 204 : 200))
    #expect(last.header("ETag") != nil)
    #expect(try scene.isStored())
    #expect(try scene.device.usage() == 52_000)
    #expect(try scene.server.reservedObjects() == [])
  }

  @Test(arguments: UploadScene.Dialect.all)
  func `the answers name the protocol, the offset and the time that is left`(
    dialect: UploadScene.Dialect
  ) throws {
    let scene = try UploadScene(TestServer(), dialect)
    for answer in [try scene.create(), try scene.append(0..<10), try scene.ask()] {
      #expect(answer.header(dialect.version.0) == dialect.version.1)
      #expect(answer.header("Upload-Length") == "50000")
      for (name, value) in dialect.completion(false) { #expect(answer.header(name) == value) }
      switch dialect {
      case .tus: #expect(answer.header("Upload-Expires") == "Fri, 29 May 2026 20:26:40 GMT")
      case .draft(8):
        #expect(answer.header("Upload-Limit") == "max-size=5000000000, max-age=86400")
      case .draft:
        #expect(answer.header("Upload-Limit") == "max-size=5000000000, expires=86400")
      }
    }
    #expect(try scene.ask().header("Cache-Control")?.contains("no-store") == true)
  }

  @Test(arguments: ContentPlace.all)
  func `the creating request may hold the first bytes, if they are the announced ones`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    var altered = scene.creation(first: 30_000)
    altered.body[7] ^= 1
    #expect(try scene.device.send(altered).problem == "digest_mismatch")
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.create(first: 30_000).header("Upload-Offset") == "30000")
    #expect(try scene.append(30_000..<50_000).status == 200)
    #expect(try scene.isStored())
  }

  @Test func `a creating request that is complete is an ordinary PUT`() throws {
    let scene = try UploadScene(TestServer())
    let answer = try scene.device.send(
      scene.device.sign(
        "PUT", "/v1/files/\(scene.document)/content", body: scene.content,
        headers: [scene.dialect.version, ("Upload-Complete", "?1"), ("If-Match", "\"0\"")]))
    #expect(answer.status == 200)
    #expect(try scene.isStored())
  }

  @Test(arguments: TestEngine.available)
  func `a part of a key backup is not taken for the whole`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    func put(_ field: (String, String)) throws -> Answer {
      try device.send(
        device.sign(
          "PUT", "/v1/key-backup", body: [1, 2], headers: [field, ("If-Match", "\"0\"")]))
    }
    for part in [("Upload-Complete", "?0"), ("Upload-Incomplete", "?1")] {
      let refused = try put(part)
      #expect(refused.status == 400)
      #expect(try refused.problem == "upload_version_unsupported")
    }
    #expect(try put(("Upload-Complete", "1")).problem == "upload_field_invalid")
    #expect(try put(("Upload-Complete", "?1")).status == 200)
  }

  // MARK: Offsets

  @Test(arguments: UploadScene.Dialect.all)
  func `an append at another offset is refused with the right one`(
    dialect: UploadScene.Dialect
  ) throws {
    let scene = try UploadScene(TestServer(), dialect)
    try scene.create()
    _ = try scene.append(0..<20_000)
    for wrong in [0..<100, 20_001..<20_100] {
      let answer = try scene.append(wrong)
      #expect(try answer.problem == "upload_offset_wrong")
      #expect(answer.header("Upload-Offset") == "20000")
      for (name, value) in dialect.completion(false) { #expect(answer.header(name) == value) }
    }
    _ = try scene.append(20_000..<50_000)
    #expect(try scene.isStored())
  }

  @Test(arguments: ContentPlace.all)
  func `what arrived before a connection broke is kept, and the rest follows`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    let client = try scene.appendPart(0..<30_000, of: 0..<50_000)
    usleep(200_000)
    client.reset()
    let offset = try #require(wait { try? scene.offset().flatMap { $0 > 0 ? $0 : nil } })
    #expect(offset <= 30_000)
    #expect(try scene.append(offset..<50_000).status == 200)
    #expect(try scene.isStored())
  }

  @Test(arguments: ContentPlace.all)
  func `during a long append parts become durable one by one`(place: ContentPlace) throws {
    let part = 8 << 20
    let scene = try UploadScene(
      TestServer(place.engine, freeByteCount: 100_000_000, objects: place.store),
      byteCount: 3 * part)
    try scene.create()
    let client = try scene.appendPart(0..<2 * part + 1000, of: 0..<3 * part)
    let durable: Int64? = wait {
      let offset = try? scene.server.database.read { reader in
        try reader.first("SELECT durable_bytes FROM sync.uploads") { row in try row.integer(0) }
      }
      return offset.flatMap { $0 }.flatMap { $0 >= Int64(part) ? $0 : nil }
    }
    #expect(durable == Int64(part) || durable == Int64(2 * part))
    client.finishSending()
  }

  @Test(arguments: ContentPlace.all)
  func `an append whose bytes are not those of its digest adds nothing`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    var request = scene.appending(20_000..<50_000)
    request.headers.append(("Content-Digest", UploadScene.digest(request.body)))
    var altered = request
    altered.body[7] ^= 1
    #expect(try scene.device.send(altered).problem == "digest_mismatch")
    #expect(try scene.offset() == 20_000)
    #expect(try scene.device.send(request).status == 200)
    #expect(try scene.isStored())
  }

  @Test(arguments: ContentPlace.all)
  func `of an append with a digest no part becomes durable before the whole`(
    place: ContentPlace
  ) throws {
    let part = 8 << 20
    let scene = try UploadScene(
      TestServer(place.engine, freeByteCount: 100_000_000, objects: place.store),
      byteCount: 2 * part)
    try scene.create()
    var request = scene.appending(0..<2 * part)
    request.headers.append(("Content-Digest", UploadScene.digest(request.body)))
    request.body[7] ^= 1
    #expect(try scene.device.send(request).problem == "digest_mismatch")
    #expect(try scene.offset() == 0)
  }

  // MARK: One request at a time

  @Test(arguments: ContentPlace.all)
  func `a newer request ends the older`(place: ContentPlace) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    let older = try scene.appendPart(0..<30_000, of: 0..<50_000)
    usleep(200_000)
    let offset = try #require(try scene.offset())
    #expect(try scene.append(offset..<50_000).status == 200)
    older.send(Array(scene.content[30_000...]))
    #expect(older.receiveResponse()?.status == 409)
    #expect(try scene.isStored())
  }

  @Test func `an upload that another program does not let go of is busy`() throws {
    let scene = try UploadScene(TestServer())
    try scene.create(first: 10_000)
    let object = try #require(try scene.server.reservedObjects().first)
    let store = try DirectoryStore(directory: scene.server.objectsDirectory)
    let writer = try store.resume(object, at: ObjectCheckpoint(byteCount: 10_000, state: []))
    let answer = try scene.append(10_000..<50_000)
    #expect(try answer.problem == "upload_busy")
    #expect(answer.header("Retry-After") == "1")
    writer.suspend()
    #expect(try scene.append(10_000..<50_000).status == 200)
  }

  // MARK: Ends

  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `a final answer that was lost can be had again`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store), dialect)
    try scene.create()
    let last = try scene.append(0..<50_000)
    try scene.expectAgain(last, 0..<50_000)
    let asked = try scene.ask()
    #expect(asked.header("Upload-Offset") == "50000")
    #expect(asked.header("ETag") == last.header("ETag"))
    for (name, value) in dialect.completion(true) { #expect(asked.header(name) == value) }
  }

  @Test(arguments: ContentPlace.all)
  func `a final answer is kept for a day, however long before the last byte came`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    let account = try scene.device.account
    try scene.create()
    try scene.server.setCap(account, 10_000, plan: "free", reason: "lapsed")
    #expect(try scene.append(0..<50_000).problem == "over_cap")
    scene.server.clock.advance(.hours(23))
    try scene.server.setCap(account, 1_000_000, plan: "premium", reason: "subscribed")
    let last = try scene.append(50_000..<50_000)
    #expect(last.status == 200)
    scene.server.clock.advance(.hours(23))
    try scene.expectAgain(last, 50_000..<50_000)
    scene.server.clock.advance(.hours(1))
    #expect(try scene.ask().status == 404)
  }

  @Test(arguments: ContentPlace.all)
  func `of the final answers of an account the latest 256 stay`(place: ContentPlace) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    let tag = try #require(try scene.append(0..<50_000).header("ETag"))
    try scene.server.database.write(for: nil) { transaction in
      for age in Int64(1)...300 {
        try transaction.execute(
          """
          INSERT INTO sync.uploads
            (secret_hash, object_id, owner_id, kind, subject_id, actor_key, if_match, digest, bytes,
             durable_bytes, hash_state, store_state, epoch, expires_ms, ends_ms, status, headers,
             body)
          SELECT $1, $2, owner_id, kind, subject_id, actor_key, if_match, digest, bytes,
            durable_bytes, hash_state, store_state, epoch, expires_ms - $3, ends_ms, status, headers,
            body
          FROM sync.uploads ORDER BY expires_ms DESC LIMIT 1
          """, .blob(Random.bytes(32)), .id(Random.identifier()), .integer(age))
      }
    }
    #expect(try scene.device.send(scene.creation(ifMatch: tag)).status == 201)
    // With the one that was just created.
    #expect(try scene.server.count("uploads") == 257)
    #expect(try scene.ask().header("ETag") == tag)
  }

  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `content that is not the announced one ends the upload`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store), dialect)
    try scene.create(digest: UploadScene.digest([1]))
    #expect(try scene.append(0..<50_000).problem == "upload_digest_wrong")
    #expect(try scene.append(0..<50_000).problem == "upload_digest_wrong")
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").body.isEmpty)
    try scene.server.sweeper().sweep()
    #expect(try scene.server.objects.leftovers(before: .distantFuture) == [])
  }

  @Test func `more than announced ends the upload; less is refused`() throws {
    let scene = try UploadScene(TestServer())
    try scene.create()
    #expect(try scene.append(0..<20_000, completes: true).problem == "upload_too_short")
    var long = scene.appending(0..<50_000)
    long.body.append(1)
    #expect(try scene.device.send(long).problem == "upload_too_long")
    #expect(try scene.append(0..<50_000).problem == "upload_too_long")
    #expect(try scene.server.reservedObjects() == [])
  }

  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `a cancelled upload leaves nothing behind`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store), dialect)
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try scene.device.send(scene.request("DELETE")).status == 204)
    #expect(try scene.ask().status == 404)
    #expect(try scene.append(20_000..<50_000).problem == "upload_not_found")
    try scene.server.sweeper().sweep()
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.server.objects.leftovers(before: .distantFuture) == [])
  }

  @Test(arguments: ContentPlace.all)
  func `an upload expires a week after its creation, whatever its progress`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    for day in 0..<8 {
      #expect(try scene.append(day * 100..<(day + 1) * 100).status == 204)
      scene.server.clock.advance(.hours(20))
    }
    #expect(try scene.append(800..<900).status == 204)
    scene.server.clock.advance(.hours(8))
    #expect(try scene.append(900..<1000).problem == "upload_not_found")
    try scene.server.sweeper().sweep()
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.server.count("uploads") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an upload that makes progress while a sweep ends the expired ones keeps its room`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let account = try server.register().account
    for _ in 0..<2 {
      try server.change(
        """
        INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
        VALUES ($1, $2, $3, 100, 0)
        """, .id(Random.identifier()), .id(account), .blob([1]))
    }
    // The sweep has found both. Once it ends one, the other is extended.
    if engine == .postgres {
      try server.change(
        """
        CREATE FUNCTION sync.extend() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN UPDATE sync.reservations SET expires_ms = 9000000000000; RETURN NULL; END'
        """)
      try server.change(
        """
        CREATE TRIGGER extend AFTER DELETE ON sync.reservations FOR EACH ROW
        EXECUTE FUNCTION sync.extend()
        """)
    } else {
      try server.change(
        """
        CREATE TRIGGER sync.extend AFTER DELETE ON reservations
        BEGIN UPDATE reservations SET expires_ms = 9000000000000; END
        """)
    }
    try server.sweeper().sweep()
    #expect(try server.reservedObjects().count == 1)
  }
}

/// Repeats until there is a value; nil if there is none within ten seconds.
func wait<Value>(_ body: () -> Value?) -> Value? {
  let deadline = MonotonicTime.now() + .seconds(10)
  while MonotonicTime.now() < deadline {
    if let value = body() { return value }
    usleep(5000)
  }
  return nil
}
