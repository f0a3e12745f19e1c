import Base
import Crypto
import Glibc
import RawClient
import Sync
import TestDevices
import TestEngines
import Testing

/// What holds for uploads whatever their content is. The rest is judged as the content's protocol judges
/// (`UploadCommitTests`, `BlobUploadTests`, `LinkUploadTests`, `SnapshotUploadTests`).
@Suite struct UploadKindTests {
  @Test(arguments: [UploadKind.file, .snapshot], TestEngine.available)
  func `a newer request to another instance ends the older within a second or two`(
    kind: UploadKind, engine: TestEngine
  ) throws {
    let scene = try kind.scene(TestServer(engine))
    let other = try TestServer(beside: scene.server)
    let sweeper = scene.server.sweeper()
    sweeper.start(every: 3600)
    defer { sweeper.stop() }
    try scene.create()
    let older = try scene.appendPart(0..<30_000, of: 0..<50_000)
    usleep(200_000)
    let client = other.device(key: scene.device.key, root: scene.device.root)
    #expect(try client.send(scene.appending(0..<50_000)).status == 200)
    older.send(Array(scene.content[30_000...]))
    #expect(older.receiveResponse()?.status == 409)
    #expect(try scene.isStored())
  }

  // MARK: Creation

  @Test(
    arguments: UploadKind.each(
      of: [.blob, .link], in: [.draft(3), .draft(5), .draft(6), .draft(8)]),
    ContentPlace.all)
  func `a first part is not taken for the whole`(
    upload: UploadKind.InDialect, place: ContentPlace
  ) throws {
    let kind = upload.kind
    let scene = try kind.scene(TestServer(place.engine, objects: place.store), upload.dialect)
    try scene.create(first: 20_000)
    #expect(try scene.offset() == 20_000)
    #expect(try kind.isAbsent(scene, for: scene.device))
    #expect(try scene.append(20_000..<50_000).status == (kind == .link ? 201 : 200))
    #expect(try kind.isStored(scene))
  }

  @Test(arguments: [UploadKind.blob, .link, .snapshot])
  func `a part in a version that the server does not speak is not taken for the whole`(
    kind: UploadKind
  ) throws {
    let scene = try kind.scene(TestServer())
    let answer = try scene.device.send(
      scene.device.sign(
        "PUT", scene.path + scene.query, body: scene.content,
        headers: [
          ("Upload-Draft-Interop-Version", "7"), ("Upload-Complete", "?0"), ("If-Match", "\"0\""),
        ]))
    #expect(try answer.problem == "upload_version_unsupported")
    #expect(try kind.isAbsent(scene, for: scene.device))
  }

  @Test(arguments: [UploadKind.file, .blob, .link, .snapshot])
  func `a length with which no sum can be made is refused, and the server goes on`(
    kind: UploadKind
  ) throws {
    let scene = try kind.scene(TestServer())
    let request = scene.device.sign(
      "PUT", scene.path + scene.query, body: scene.content, headers: [("If-Match", "\"0\"")])
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    let client = try #require(RawClient(connectingTo: scene.server.port))
    client.send(
      "PUT \(request.target) HTTP/1.1\r\n\(fields)Content-Length: \(Int64.max)\r\n\r\n")
    #expect(client.receiveResponse()?.status == 400)
    #expect(try scene.device.send(request).status < 300)
  }

  @Test func `an append with such a length is refused, and the upload goes on`() throws {
    let scene = try UploadScene(TestServer())
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    let fields = scene.appending(20_000..<50_000).headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    let client = try #require(RawClient(connectingTo: scene.server.port))
    client.send(
      "PATCH \(scene.url) HTTP/1.1\r\n\(fields)Content-Length: \(Int64.max)\r\n\r\n")
    #expect(client.receiveResponse()?.status == 400)
    #expect(try scene.append(20_000..<50_000).status == 200)
  }

  // MARK: Ends

  @Test(arguments: [UploadKind.file, .snapshot], ContentPlace.all)
  func `a revoked device appends no more`(kind: UploadKind, place: ContentPlace) throws {
    let scene = try kind.scene(TestServer(place.engine, objects: place.store))
    let other = scene.server.device()
    #expect(try scene.device.admit(other).status < 300)
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try other.revoke(key: scene.device.key.publicKey.bytes).status < 300)
    #expect(try scene.append(20_000..<50_000).problem == "revoked_key")
    #expect(try kind.isAbsent(scene, for: other))
    #expect(try scene.device.send(scene.request("DELETE")).status == 204)
    #expect(try scene.server.reservedObjects() == [])
  }

  @Test(
    arguments: UploadKind.each(of: [.blob, .link, .snapshot], in: [.draft(8), .tus]),
    ContentPlace.all)
  func `a cap that fell meanwhile leaves the upload open until it holds it again`(
    upload: UploadKind.InDialect, place: ContentPlace
  ) throws {
    let kind = upload.kind
    let scene = try kind.scene(TestServer(place.engine, objects: place.store), upload.dialect)
    let account = try scene.device.account
    try scene.create()
    try scene.server.setCap(account, 10_000, plan: "free", reason: "lapsed")
    #expect(try scene.append(0..<50_000).problem == "over_cap")
    #expect(try kind.isAbsent(scene, for: scene.device))
    try scene.server.setCap(account, 1_000_000, plan: "premium", reason: "subscribed")
    let answer = try scene.append(50_000..<50_000, completes: true)
    #expect(200...204 ~= answer.status)
    #expect(try kind.isStored(scene))
    try kind.requireRight(scene)
  }

  @Test(arguments: [UploadKind.blob, .snapshot], ContentPlace.all)
  func `another account that has the URL writes for its creator`(
    kind: UploadKind, place: ContentPlace
  ) throws {
    let scene = try kind.scene(TestServer(place.engine, objects: place.store))
    try scene.create()
    let stranger = try scene.server.register()
    #expect(try stranger.send(scene.appending(0..<50_000)).status == 200)
    #expect(try scene.isStored())
    #expect(try stranger.usage() == 1000)
    let problem = kind == .blob ? "blob_not_found" : "log_not_found"
    #expect(try stranger.get(scene.path).problem == problem)
  }

  @Test(arguments: [UploadKind.file, .blob, .link, .snapshot], ContentPlace.all)
  func `an upload expires a day after its last progress, and nothing of it stays`(
    kind: UploadKind, place: ContentPlace
  ) throws {
    let scene = try kind.scene(TestServer(place.engine, objects: place.store))
    try scene.create()
    scene.server.clock.advance(.hours(20))
    _ = try scene.append(0..<20_000)
    scene.server.clock.advance(.hours(20))
    try scene.server.sweeper().sweep()
    #expect(try scene.offset() == 20_000)
    scene.server.clock.advance(.hours(5))
    #expect(try scene.ask().status == 404)
    try scene.server.sweeper().sweep()
    #expect(try scene.server.count("uploads") == 0)
    #expect(try kind.isAbsent(scene, for: scene.device))
    try scene.expectNothingLeft()
  }
}
