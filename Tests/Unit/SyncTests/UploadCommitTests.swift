import Accounts
import Base
import Crypto
import JSON
import RawClient
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing
import Tiers

/// Who may create a resumable upload, and what is judged again when it becomes visible.
@Suite struct UploadCommitTests {
  // MARK: Creation

  @Test func `an upload that the cap does not hold is refused before its first byte`() throws {
    let scene = try UploadScene(TestServer(freeByteCount: 40_000))
    let answer = try scene.device.send(scene.creation())
    #expect(try answer.problem == "over_cap")
  }

  @Test func `uploads hold their room`() throws {
    let scene = try UploadScene(TestServer(freeByteCount: 60_000))
    try scene.create()
    let other = scene.creation(digest: UploadScene.digest([1]))
    #expect(try scene.device.send(other).problem == "over_cap")
  }

  @Test(arguments: [false, true])
  func `the same creating request again replaces the upload whose URL was lost`(
    isSignedAnew: Bool
  ) throws {
    let scene = try UploadScene(TestServer(freeByteCount: 60_000))
    let request = scene.creation()
    let first = try #require(try scene.device.send(request).header("Location"))
    let again = isSignedAnew ? scene.creation() : request
    let second = try #require(try scene.device.send(again).header("Location"))
    #expect(first != second)
    let gone = try scene.device.send(
      TestDevice.Signed(
        method: "HEAD", target: first,
        headers: [("Host", TestServer.authority), scene.dialect.version], body: []))
    #expect(gone.status == 404)
    #expect(try scene.server.reservedObjects().count == 1)
  }

  @Test(arguments: [
    ("Upload-Length", "-1"), ("Upload-Length", "0"), ("Upload-Length", "1e3"),
    ("Upload-Length", "9999999999999999"), ("Repr-Digest", "sha-256=:AA==:"),
    ("Repr-Digest", "md5=:AAAA:"), ("If-None-Match", "*"), ("Upload-Complete", "0"),
  ])
  func `a creating request with a malformed field is refused`(name: String, value: String) throws {
    let scene = try UploadScene(TestServer())
    let session = try Session(scene.device)
    var headers = session.creation(scene)
    headers.removeAll { $0.0 == name }
    headers.append((name, value))
    let answer = try scene.device.send(
      .init(
        method: "PUT", target: "/v1/files/\(scene.document)/content", headers: headers, body: []))
    #expect(try answer.problem == "upload_field_invalid")
  }

  @Test(arguments: ["If-Match", "Upload-Length", "Repr-Digest"])
  func `a signature must cover what the content will be`(name: String) throws {
    let scene = try UploadScene(TestServer())
    let fields = [
      ("If-Match", "\"0\""), ("Upload-Length", "50000"),
      ("Repr-Digest", UploadScene.digest(scene.content)),
    ]
    let request = scene.device.sign(
      "PUT", "/v1/files/\(scene.document)/content",
      headers: [scene.dialect.version, ("Upload-Complete", "?0")] + fields.filter { $0.0 == name },
      covering: fields.filter { $0.0 != name })
    #expect(try scene.device.send(request).problem == "components_missing")
  }

  @Test(arguments: ["1", "7", "9", "x"])
  func `a part in a version that the server does not speak is not taken for the whole`(
    version: String
  ) throws {
    let scene = try UploadScene(TestServer())
    let answer = try scene.device.send(
      scene.device.sign(
        "PUT", "/v1/files/\(scene.document)/content", body: scene.content,
        headers: [
          ("Upload-Draft-Interop-Version", version), ("Upload-Complete", "?0"),
          ("If-Match", "\"0\""),
        ]))
    #expect(try answer.problem == "upload_version_unsupported")
  }

  @Test func `content above the server's limit is refused`() throws {
    var limits = SyncLimits()
    limits.contentByteCountMax = 49_999
    let scene = try UploadScene(TestServer(limits: limits))
    #expect(try scene.device.send(scene.creation()).problem == "upload_too_large")
  }

  @Test func `an upload whose first bytes find every thread busy holds no room`() throws {
    let scene = try UploadScene(TestServer())
    let (request, pool) = (scene.creation(first: 20_000), scene.server.api.host.pool)
    let client = try #require(RawClient(connectingTo: scene.server.port))
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    client.send(
      "\(request.method) \(request.target) HTTP/1.1\r\n\(fields)Content-Length: 20000\r\n\r\n")
    client.send(Array(request.body.prefix(10_000)))
    let temporary = scene.server.objectsDirectory + "/tmp"
    try #require(wait { Files.names(in: temporary).isEmpty ? nil : true } == true)
    let (busyCount, isOver) = (Locked(0), Locked(false))
    let block: @Sendable () -> Void = {
      busyCount.signal { $0 += 1 }
      _ = isOver.wait(until: .now() + .seconds(20)) { $0 ? true : nil }
    }
    for _ in 0..<2 { #expect(pool.submit(for: Random.identifier(), block)) }
    try #require(busyCount.wait(until: .now() + .seconds(10)) { $0 == 2 ? true : nil } == true)
    while pool.submit(for: Random.identifier(), block) {}
    client.send(Array(request.body.suffix(10_000)))
    let status = client.receiveResponse()?.status
    isOver.signal { $0 = true }
    #expect(status == 503)
    let isFree: Bool? = wait { try? scene.server.reservedObjects().isEmpty ? true : nil }
    #expect(isFree == true)
  }

  // MARK: Appends

  @Test(arguments: [
    ("Upload-Offset", "x"), ("Upload-Offset", "-1"), ("Upload-Complete", "yes"),
    ("Upload-Complete", "?2"),
  ])
  func `an append with a malformed field is refused`(name: String, value: String) throws {
    let scene = try UploadScene(TestServer())
    try scene.create()
    var request = scene.appending(0..<100)
    request.headers.removeAll { $0.0 == name }
    request.headers.append((name, value))
    #expect(try scene.device.send(request).problem == "upload_field_invalid")
  }

  @Test(arguments: [UploadScene.Dialect.draft(6), .draft(8), .tus])
  func `an append needs its media type`(dialect: UploadScene.Dialect) throws {
    let scene = try UploadScene(TestServer(), dialect)
    try scene.create()
    var request = scene.appending(0..<100)
    request.headers.removeAll { $0.0 == "Content-Type" }
    request.headers.append(("Content-Type", "application/octet-stream"))
    #expect(try scene.device.send(request).problem == "upload_media_type_invalid")
  }

  @Test func `another tus version is refused with the one that is spoken`() throws {
    let scene = try UploadScene(TestServer(), .tus)
    try scene.create()
    var request = scene.request("HEAD")
    request.headers.removeAll { $0.0 == "Tus-Resumable" }
    request.headers.append(("Tus-Resumable", "0.2.2"))
    let answer = try scene.device.send(request)
    #expect(answer.status == 412)
    #expect(answer.header("Tus-Version") == "1.0.0")
  }

  @Test func `an unknown secret is not found`() throws {
    let scene = try UploadScene(TestServer())
    try scene.create()
    let url = "/v1/uploads/" + Base64.url.encode(Random.bytes(32))
    for method in ["HEAD", "PATCH", "DELETE"] {
      var request = method == "PATCH" ? scene.appending(0..<10) : scene.request(method)
      request.target = url
      #expect(try scene.device.send(request).status == 404)
    }
  }

  // MARK: The commit

  @Test(arguments: ContentPlace.all)
  func `a version that another device wrote meanwhile ends the upload`(place: ContentPlace) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try scene.device.put(scene.document, [1, 2, 3], ifMatch: "\"0\"").status == 200)
    #expect(try scene.append(20_000..<50_000).problem == "version_changed")
    #expect(try scene.append(20_000..<50_000).problem == "version_changed")
    #expect(try scene.device.get("/v1/files/\(scene.document)/content").body == [1, 2, 3])
    #expect(try scene.server.reservedObjects() == [])
  }

  @Test(arguments: ContentPlace.all)
  func `an upload whose reservation has ended leaves its object to the collector`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    // It expired, and what there was of the object is collected already.
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute("DELETE FROM sync.reservations")
    }
    #expect(try scene.append(20_000..<50_000).problem == "reservation_expired")
    #expect(try scene.server.count("garbage WHERE bytes = 50000") == 1)
    try scene.expectNothingLeft()
  }

  @Test(arguments: [UploadScene.Dialect.draft(8), .tus], ContentPlace.all)
  func `a cap that fell meanwhile leaves the upload open until it holds it again`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store), dialect)
    let account = try scene.device.account
    try scene.create()
    try scene.server.setCap(account, 10_000, plan: "free", reason: "lapsed")
    #expect(try scene.append(0..<50_000).problem == "over_cap")
    if case .tus = dialect { #expect(try scene.ask().status == 507) }
    try scene.server.setCap(account, 1_000_000, plan: "premium", reason: "subscribed")
    let answer = try scene.append(50_000..<50_000, completes: true)
    #expect(200...204 ~= answer.status)
    #expect(try scene.isStored())
    #expect(try scene.device.usage() == 52_000)
  }

  @Test(arguments: ContentPlace.all)
  func `who shares nothing with the owner any more holds no room of it`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(TestServer(place.engine, objects: place.store))
    let bob = try scene.server.register()
    _ = try scene.device.share(scene.document, with: bob, mode: "write")
    try scene.create(by: bob)
    #expect(try scene.append(0..<20_000).status == 204)
    let ended = try scene.device.revoke(scene.document, from: bob.account)
    #expect(ended.status == 200)
    #expect(try scene.append(20_000..<40_000).problem == "upload_not_found")
    #expect(try scene.append(40_000..<50_000).problem == "upload_not_found")
    #expect(try scene.server.reservedObjects() == [])
    #expect(try scene.device.get(scene.path).body.isEmpty)
  }

  @Test func `a suspended account's upload is not committed`() throws {
    let scene = try UploadScene(TestServer())
    let account = try scene.device.account
    try scene.create()
    _ = try scene.append(0..<20_000)
    try scene.server.suspend(account, since: scene.server.clock.now)
    #expect(try scene.append(20_000..<50_000).problem == "account_suspended")
  }

  @Test func `an upload by a session ends with the session`() throws {
    let scene = try UploadScene(TestServer(), .tus)
    let session = try Session(scene.device)
    let created = try scene.device.send(
      .init(
        method: "POST", target: "/v1/files/\(scene.document)/content",
        headers: session.creation(scene), body: []))
    #expect(created.status == 201)
    let url = try #require(created.header("Location"))
    func send(_ request: TestDevice.Signed) throws -> Answer {
      var request = request
      request.target = url
      return try scene.device.send(request)
    }
    #expect(try send(scene.appending(0..<20_000)).status == 204)
    #expect(
      try scene.device.send(
        scene.device.sign("DELETE", "/v1/sessions/\(session.id)")
      ).status < 300)
    #expect(try send(scene.appending(20_000..<50_000)).problem == "session_invalid")
  }

  @Test func `another account that has the URL writes for its creator`() throws {
    let scene = try UploadScene(TestServer())
    try scene.create()
    let stranger = try scene.server.register()
    var request = scene.appending(0..<50_000)
    request.headers.append(("Authorization", "Bearer " + (try Session(stranger).token)))
    #expect(try stranger.send(request).status == 200)
    #expect(try scene.isStored())
    #expect(try stranger.usage() == 1000)
  }

  private struct Session {
    let token: String
    let id: String

    init(_ device: TestDevice) throws {
      let opened = try device.send(device.sign("POST", "/v1/sessions"))
      token = try #require(try opened.json["token"].string)
      id = try opened.json["id"].string ?? ""
    }

    func creation(_ scene: UploadScene) -> [(String, String)] {
      [
        ("Host", TestServer.authority), ("Authorization", "Bearer \(token)"),
        ("If-Match", "\"0\""), ("Upload-Length", "\(scene.content.count)"),
        ("Repr-Digest", UploadScene.digest(scene.content)), scene.dialect.version,
      ] + scene.dialect.completion(false)
    }
  }
}
