import Base
import Crypto
import Glibc
import JSON
import Objects
import RawClient
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Uploads whose answer, connection or server was lost, and which are sent again.
@Suite struct UploadTests {
  /// An account with room for the content once, not twice.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let document: Identifier
    let content: [UInt8]
    let request: TestDevice.Signed

    init(_ engine: TestEngine, byteCount: Int, objects: (any ObjectStore)? = nil) throws {
      let server = try TestServer(
        engine, freeByteCount: 3000 + Int64(byteCount), objects: objects)
      try self.init(server, byteCount: byteCount)
    }

    init(_ server: TestServer, byteCount: Int) throws {
      self.server = server
      device = try server.register()
      document = try device.add()
      content = Random.bytes(byteCount)
      request = device.sign(
        "PUT", "/v1/files/\(document)/content", body: content, headers: [("If-Match", "\"0\"")])
    }

    /// Sends the head and half of the body, and returns once the server has reserved room for it.
    func begin() throws -> RawClient {
      let client = try #require(RawClient(connectingTo: server.port))
      let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
      client.send(
        "\(request.method) \(request.target) HTTP/1.1\r\n\(fields)"
          + "Content-Length: \(content.count)\r\n\r\n")
      client.send(Array(content.prefix(content.count / 2)))
      let isThere: Bool? = wait { try? server.reservedObjects().isEmpty ? nil : true }
      #expect(isThere == true)
      return client
    }

    /// Sends the request on its own thread and connection, or to another instance.
    func send(
      _ request: TestDevice.Signed? = nil, to other: TestServer? = nil
    ) -> Sending {
      let client = (other ?? server).device(key: device.key, root: device.root)
      let request = request ?? self.request
      return Sending { try? client.send(request) }
    }

    func sendRest(_ client: RawClient) { client.send(Array(content.suffix(content.count / 2))) }

    private func wait(_ body: () -> Bool?) -> Bool? {
      let deadline = MonotonicTime.now() + .seconds(10)
      while MonotonicTime.now() < deadline {
        if let value = body() { return value }
        usleep(2000)
      }
      return nil
    }
  }

  /// A request under way, and its answer.
  private final class Sending: Sendable {
    private let reply = Locked<Answer?>(nil)
    private let thread: Thread

    init(_ send: @escaping @Sendable () -> Answer?) {
      thread = Thread { [reply] in
        let answer = send()
        reply.withLock { $0 = answer }
      }
    }

    var isAnswered: Bool { reply.withLock { $0 != nil } }

    /// Waits for the answer; nil if there was none.
    func answer() -> Answer? {
      thread.join()
      return reply.withLock { $0 }
    }
  }

  // MARK: While the first is under way

  @Test(arguments: [10_000, 60_000], ContentPlace.all)
  func `repeats that are sent while the first is in flight get its answer, near the cap too`(
    byteCount: Int, place: ContentPlace
  ) throws {
    let server = try TestServer(
      place.engine, freeByteCount: 3000 + Int64(byteCount), objects: place.store)
    for _ in 0..<10 {
      let scene = try Scene(server, byteCount: byteCount)
      let all = (0..<4).map { _ in scene.send() }.compactMap { $0.answer() }
      try #require(all.map(\.status) == [200, 200, 200, 200], "\(all.map(UnexpectedAnswer.init))")
      #expect(Set(all.map(\.body)).count == 1)
      #expect(try scene.device.usage() == 2000 + Int64(byteCount))
      #expect(try server.reservedObjects() == [])
    }
  }

  @Test(arguments: ContentPlace.all)
  func `a repeat waits for a first attempt that gets on, however slowly`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place.engine, byteCount: 60_000, objects: place.store)
    let first = try scene.begin()
    let repeated = scene.send()
    var rest = scene.content.suffix(30_000)
    for _ in 0..<10 {
      usleep(50_000)
      first.send(Array(rest.prefix(3000)))
      rest = rest.dropFirst(3000)
    }
    let answer = try #require(first.receiveResponse())
    #expect(answer.status == 200)
    let other = try #require(repeated.answer())
    #expect(other.status == 200)
    #expect(other.holds(answer.body))
  }

  /// With `*`, repeats overwrite what the first has just written with the same. With a version they no longer
  /// match.
  @Test(arguments: [("*", [200, 200, 200]), ("\"0\"", [200, 412, 412])], ContentPlace.all)
  func `repeats in a session wait for the first, near the cap too`(
    condition: (ifMatch: String, statuses: [Int]), place: ContentPlace
  ) throws {
    let scene = try Scene(place.engine, byteCount: 60_000, objects: place.store)
    let opened = try scene.device.send(scene.device.sign("POST", "/v1/sessions"))
    let token = try #require(try opened.json["token"].string)
    let digest = Base64.standard.encode(SHA256.hash(scene.content))
    let request = TestDevice.Signed(
      method: "PUT", target: scene.request.target,
      headers: [
        ("Host", TestServer.authority), ("Authorization", "Bearer \(token)"),
        ("If-Match", condition.ifMatch), ("Content-Digest", "sha-256=:\(digest):"),
      ], body: scene.content)
    let all = (0..<3).map { _ in scene.send(request) }.compactMap { $0.answer() }
    #expect(all.map(\.status).sorted() == condition.statuses, "\(all.map(UnexpectedAnswer.init))")
    #expect(try scene.device.usage() == 2000 + 60_000)
    #expect(try scene.server.reservedObjects() == [])
  }

  @Test(arguments: TestEngine.available)
  func `a repeat through another instance waits for the first and gets its answer`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, byteCount: 60_000)
    let other = try TestServer(beside: scene.server)
    let first = try scene.begin()
    let repeated = scene.send(to: other)
    usleep(500_000)
    #expect(!repeated.isAnswered)
    scene.sendRest(first)
    let answer = try #require(first.receiveResponse())
    #expect(answer.status == 200)
    let again = try #require(repeated.answer())
    #expect(again.status == 200 && again.holds(answer.body))
    #expect(try scene.device.usage() == 2000 + 60_000)
  }

  @Test(arguments: TestEngine.available)
  func `a repeat through another instance takes the place of an attempt that stands still`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, byteCount: 60_000)
    let other = try TestServer(beside: scene.server)
    let first = try scene.begin()
    let client = other.device(key: scene.device.key, root: scene.device.root)
    let answer = try client.send(scene.request)
    #expect(answer.status == 200)
    scene.sendRest(first)
    let late = try #require(first.receiveResponse())
    #expect(late.status == 200 && answer.holds(late.body))
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").holds(scene.content))
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.device.usage() == 2000 + 60_000)
  }

  // MARK: When the first is dead

  @Test(arguments: ContentPlace.all)
  func `a repeat takes the place of an attempt from which nothing more comes`(
    place: ContentPlace
  ) throws {
    let scene = try Scene(place.engine, byteCount: 60_000, objects: place.store)
    let first = try scene.begin()
    let answer = try scene.device.send(scene.request)
    #expect(answer.status == 200)
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").holds(scene.content))
    #expect(try scene.server.reservedObjects() == [])
    scene.sendRest(first)
    let late = try #require(first.receiveResponse())
    #expect(late.status == 409)
    #expect(String(decoding: late.body, as: UTF8.self).contains("upload_superseded"))
    #expect(try scene.device.send(scene.request).holds(answer.body))
    scene.server.clock.advance(.minutes(11))
    try scene.server.sweeper().sweep()
    #expect(try scene.server.objects.leftovers(before: .distantFuture) == [])
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").holds(scene.content))
  }

  @Test func `an attempt that a refused one follows is no longer in the way`() throws {
    let scene = try Scene(.sqlite, byteCount: 60_000)
    let first = try scene.begin()
    var broken = scene.request
    broken.body[59_999] ^= 1
    #expect(try scene.device.send(broken).problem == "digest_mismatch")
    #expect(try scene.device.send(scene.request).status == 200)
    scene.sendRest(first)
    #expect(first.receiveResponse()?.status == 409)
  }

  @Test(arguments: ContentPlace.all)
  func `another request has no part in an attempt's room`(place: ContentPlace) throws {
    let scene = try Scene(place.engine, byteCount: 60_000, objects: place.store)
    let first = try scene.begin()
    #expect(try scene.device.put(scene.document, scene.content, ifMatch: "\"0\"").status == 507)
    scene.sendRest(first)
    #expect(first.receiveResponse()?.status == 200)
  }

  // MARK: Programs that end

  @Test(arguments: TestEngine.available)
  func `the uploads of a program that runs are left alone, of one that ended they are settled`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, byteCount: 60_000)
    let upload = Random.identifier()
    var other: DirectoryStore? = try DirectoryStore(directory: scene.server.objectsDirectory)
    let instance = try #require(other?.instance)
    var writer = try other?.create(upload)
    let account = try scene.device.account
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.reservations
          (object_id, owner_id, actor_key, bytes, expires_ms, instance_id, nonce)
        VALUES ($1, $2, $3, 60000, $4, $5, NULL)
        """,
        .id(upload), .id(account), .blob([1]), .instant(scene.server.clock.now + .hours(1)),
        .id(instance))
    }
    try scene.server.sweeper().settleUploads()
    #expect(try scene.server.reservedObjects() == [upload])
    #expect(try scene.device.send(scene.request).status == 507)
    // The file stays, as after a crash.
    let path = scene.server.objectsDirectory + "/tmp/\(upload)"
    let kept = path + ".kept"
    #expect(unsafe rename(path, kept) == 0)
    writer?.abandon()
    #expect(unsafe rename(kept, path) == 0)
    (writer, other) = (nil, nil)
    try scene.server.sweeper().settleUploads()
    #expect(try scene.server.reservedObjects() == [])
    #expect(Files.names(in: scene.server.objectsDirectory + "/tmp") == [])
    #expect(try scene.device.send(scene.request).status == 200)
  }

  @Test func `what was written to hours ago under no reservation is swept away`() throws {
    let server = try TestServer()
    let (old, new) = (Random.identifier(), Random.identifier())
    for id in [old, new] {
      let path = "\(server.objectsDirectory)/tmp/\(id)"
      close(unsafe open(path, O_WRONLY | O_CREAT, 0o600))
    }
    let time = Clock.system.now() - .hours(5)
    let moment = timeval(tv_sec: Int(time.milliseconds / 1000), tv_usec: 0)
    let code = unsafe utimes("\(server.objectsDirectory)/tmp/\(old)", [moment, moment])
    #expect(code == 0)
    try server.sweeper().sweep()
    #expect(Files.names(in: server.objectsDirectory + "/tmp") == ["\(new)"])
  }
}

extension TestServer {
  func reservedObjects() throws -> [Identifier] {
    try database.read { reader in
      try reader.rows("SELECT object_id FROM sync.reservations") { row in try row.id(0) }
    }
  }
}
