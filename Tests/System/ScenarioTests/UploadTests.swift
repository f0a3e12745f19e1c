import Base
import Configuration
import Crypto
import Glibc
import JSON
import RawClient
import Storage
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Resumable uploads through the real program: it is killed and replaced, and clients of others send to it.
@Suite struct UploadTests {
  /// A document or a log of an account with room, and its content or snapshot in a file.
  private struct Scene {
    static let partByteCount = 8 << 20

    let installation: Installation
    let device: TestDevice
    let target: String
    let content: [UInt8]
    let path: String

    init(
      _ engine: TestEngine, _ installation: Installation, _ sync: Server, byteCount: Int,
      isSnapshot: Bool = false, to target: String? = nil
    ) throws {
      self.installation = installation
      device = try installation.device(of: sync)
      let made = { [device] in
        try isSnapshot
          ? Self.snapshot(device) : "/v1/files/\(try device.create().id)/content"
      }
      self.target = try target ?? made()
      content = Random.bytes(byteCount)
      path = installation.directory + "/content"
      try Files.write(content, to: path)
    }

    var digest: String { "sha-256=:\(Base64.standard.encode(SHA256.hash(content))):" }

    /// Where the snapshot of a new log goes.
    private static func snapshot(_ device: TestDevice) throws -> String {
      let id = Random.identifier()
      let created = try device.post(
        "/v1/logs", ["id": .string(id.description), "name": "AQ=="])
      guard created.status == 201 else { throw UnexpectedAnswer(created) }
      let cursor = try device.get("/v1/logs/\(id)/messages").json["cursor"].string
      return "/v1/logs/\(id)/snapshot?covers=\(try #require(cursor))"
    }

    /// Creates an upload of the draft, signed. Returns its URL.
    func create() throws -> String {
      let answer = try device.send(
        device.sign(
          "PUT", target,
          headers: [("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?0")],
          covering: [
            ("If-Match", "\"0\""), ("Upload-Length", "\(content.count)"), ("Repr-Digest", digest),
          ]))
      guard answer.status == 201, let url = answer.header("Location") else {
        throw UnexpectedAnswer(answer)
      }
      return url
    }

    func append(_ url: String, at offset: Int, to device: TestDevice) throws -> Answer {
      try device.send(
        .init(
          method: "PATCH", target: url,
          headers: [
            ("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?1"),
            ("Upload-Offset", "\(offset)"), ("Content-Type", "application/partial-upload"),
          ], body: Array(content[offset...])))
    }

    func offset(_ url: String, of device: TestDevice) throws -> Int {
      let answer = try device.send(
        .init(
          method: "HEAD", target: url, headers: [("Upload-Draft-Interop-Version", "8")], body: []))
      guard answer.status == 204, let offset = answer.header("Upload-Offset").flatMap({ Int($0) })
      else { throw UnexpectedAnswer(answer) }
      return offset
    }

    /// The headers of a client that has a session.
    func session() throws -> [String] {
      let opened = try device.send(device.sign("POST", "/v1/sessions"))
      let token = try opened.json["token"].string ?? ""
      return [
        "Authorization: Bearer \(token)", "If-Match: \"0\"", "Repr-Digest: \(digest)",
      ]
    }

    func isStored(_ device: TestDevice) throws -> Bool { try device.get(target).holds(content) }
  }

  @Test(arguments: TestEngine.available, TestStore.everywhere)
  func `an upload survives the death of its program, and sends at most one part again`(
    engine: TestEngine, store: TestStore
  ) throws {
    try expectSurvival(engine, store)
  }

  @Test(arguments: TestEngine.available)
  func `the upload of a log's snapshot survives the death of its program, too`(
    engine: TestEngine
  ) throws {
    try expectSurvival(engine, .directory, isSnapshot: true)
  }

  private func expectSurvival(
    _ engine: TestEngine, _ store: TestStore, isSnapshot: Bool = false
  ) throws {
    let plans = try ScratchDirectory()
    let catalogue = plans.path + "/plans.json"
    let plan = """
      {"version": "large", "free": {"id": "free", "title": "Free", "bytes": 100000000}, "plans": []}
      """
    try Files.write(Array(plan.utf8), to: catalogue)
    let installation = try Installation(
      engine, settings: store.settings.merging(["COFFER_PLANS": catalogue]) { $1 })
    let sync = try installation.start(.sync)
    let scene = try Scene(
      engine, installation, sync, byteCount: 3 * Scene.partByteCount, isSnapshot: isSnapshot)
    let url = try scene.create()
    let client = try #require(RawClient(connectingTo: sync.port))
    client.send(
      "PATCH \(url) HTTP/1.1\r\nHost: \(Installation.authority)\r\n"
        + "Upload-Draft-Interop-Version: 8\r\nUpload-Complete: ?1\r\nUpload-Offset: 0\r\n"
        + "Content-Type: application/partial-upload\r\nContent-Length: \(scene.content.count)\r\n\r\n"
    )
    let sent = 2 * Scene.partByteCount + 100_000
    client.send(Array(scene.content[..<sent]))
    try waitUntil(2 * Scene.partByteCount, isDurableIn: installation)
    sync.kill()
    let next = try installation.start(.sync, port: sync.port)
    let offset = try scene.offset(url, of: scene.device)
    #expect(sent - offset <= Scene.partByteCount, "sent \(sent), durable \(offset)")
    #expect(try scene.append(url, at: offset, to: scene.device).status == 200)
    #expect(try scene.isStored(scene.device))
    #expect(next.stop() == .exited(0))
  }

  @Test func `the log of a refused request leaves the upload's secret out`() throws {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let scene = try Scene(.sqlite, installation, sync, byteCount: 30_000)
    let url = try scene.create()
    #expect(try scene.append(url, at: 29_000, to: scene.device).status == 409)
    #expect(try scene.append(url + "/", at: 29_000, to: scene.device).status == 404)
    #expect(sync.stop() == .exited(0))
    #expect(sync.words.contains("/v1/uploads/{secret}"))
    #expect(!sync.words.contains(url.split(separator: "/").last!))
  }

  @Test(arguments: TestEngine.available, TestStore.everywhere)
  func `another instance continues an upload while the first still receives it`(
    engine: TestEngine, store: TestStore
  ) throws {
    let installation = try Installation(engine, settings: store.settings)
    let (first, second) = (try installation.start(.sync), try installation.start(.sync))
    let scene = try Scene(engine, installation, first, byteCount: 300_000)
    let url = try scene.create()
    let client = try #require(RawClient(connectingTo: first.port))
    client.send(
      "PATCH \(url) HTTP/1.1\r\nHost: \(Installation.authority)\r\n"
        + "Upload-Draft-Interop-Version: 8\r\nUpload-Complete: ?1\r\nUpload-Offset: 0\r\n"
        + "Content-Type: application/partial-upload\r\nContent-Length: 300000\r\n\r\n")
    client.send(Array(scene.content[..<200_000]))
    usleep(300_000)
    let other = installation.device(of: second, key: scene.device.key, root: scene.device.root)
    let offset = try scene.offset(url, of: other)
    #expect(try scene.append(url, at: offset, to: other).status == 200)
    #expect(try scene.isStored(other))
    client.send(Array(scene.content[200_000...]))
    #expect(client.receiveResponse()?.status == 409)
    #expect(try scene.isStored(scene.device))
  }

  @Test(
    .enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"), arguments: ["tuspy", "aiotus"],
    TestStore.everywhere)
  func `an independent client of tus uploads a document`(client: String, store: TestStore)
    throws
  {
    let installation = try Installation(.sqlite, settings: store.settings)
    let sync = try installation.start(.sync)
    let scene = try Scene(.sqlite, installation, sync, byteCount: 700_000)
    let run = try tus(client, scene, sync)
    #expect(run.status == 0, "\(run.output)")
    #expect(try scene.isStored(scene.device))
  }

  @Test(
    .enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"), arguments: TestStore.everywhere)
  func `tuspy continues after the program was killed and started again`(store: TestStore)
    throws
  {
    let installation = try Installation(.sqlite, settings: store.settings)
    let sync = try installation.start(.sync)
    let scene = try Scene(.sqlite, installation, sync, byteCount: 700_000)
    let begun = try tus("tuspy", scene, sync, ["--stop-at", "300000"])
    let url = begun.output.trimmed
    #expect(begun.status == 0 && url.contains("/v1/uploads/"), "\(begun.output)")
    sync.kill()
    let next = try installation.start(.sync, port: sync.port)
    let rest = try tus("tuspy", scene, next, ["--resume", url])
    #expect(rest.status == 0, "\(rest.output)")
    #expect(try scene.isStored(scene.device))
  }

  @Test(arguments: TestStore.everywhere)
  func `curl uploads a document in two parts by hand`(store: TestStore) throws {
    let installation = try Installation(.sqlite, settings: store.settings)
    let sync = try installation.start(.sync)
    let scene = try Scene(.sqlite, installation, sync, byteCount: 300_000)
    func curl(_ method: String, _ target: String, _ headers: [String], _ more: String = "")
      -> String
    {
      let fields = headers.map { "-H '\($0)'" }.joined(separator: " ")
      return Shell.run(
        "curl -sS -i -X \(method) \(fields) \(more) '\(sync.url)\(target)' 2>&1"
      ).output
    }
    let version = "Upload-Draft-Interop-Version: 6"
    let created = curl(
      "PUT", scene.target,
      try scene.session() + [version, "Upload-Complete: ?0", "Upload-Length: 300000"])
    let url = try #require(created.firstMatch(of: /[Ll]ocation: (\/v1\/uploads\/[^\s]+)/)).1
    let type = "Content-Type: application/partial-upload"
    let half =
      "head -c 150000 '\(scene.path)' > '\(scene.path).1'; tail -c 150000 '\(scene.path)' > '\(scene.path).2'"
    _ = Shell.run(half)
    let first = curl(
      "PATCH", String(url), [version, type, "Upload-Complete: ?0", "Upload-Offset: 0"],
      "--data-binary @'\(scene.path).1'")
    #expect(first.contains("204"), "\(first)")
    let last = curl(
      "PATCH", String(url), [version, type, "Upload-Complete: ?1", "Upload-Offset: 150000"],
      "--data-binary @'\(scene.path).2'")
    #expect(last.contains("200 OK") && last.contains("\"bytes\":300000"), "\(last)")
    #expect(try scene.isStored(scene.device))
  }

  @Test func `coffer request continues an upload that it knows, and forgets it at the end`() throws
  {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let scene = try Scene(.sqlite, installation, sync, byteCount: 300_000)
    let keyFile = installation.directory + "/device.key"
    try Files.write(
      Base64.standard.encode(scene.device.key.seed.exposed) + "\n", to: keyFile, isSecret: true)
    func send() throws -> (end: ChildProcess.End, output: String) {
      try installation.command(
        "request", "PUT", scene.target, "--key-file", keyFile, "--url", sync.url, "--header",
        "If-Match: \"0\"", "--body", scene.path, "--resumable")
    }
    let url = try scene.create()
    let first = try scene.device.send(
      .init(
        method: "PATCH", target: url,
        headers: [
          ("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?0"), ("Upload-Offset", "0"),
          ("Content-Type", "application/partial-upload"),
        ], body: Array(scene.content[..<100_000])))
    #expect(first.status == 204)
    let digest = Base64.standard.encode(SHA256.hash(scene.content))
    let known = "\(sync.url)\(scene.target)\n\(digest)\n\(url)\n"
    try Files.write(known, to: scene.path + ".upload", isSecret: true)
    let sent = try send()
    #expect(sent.end == .exited(0), "\(sent.output)")
    #expect(try scene.isStored(scene.device))
    #expect(try scene.offset(url, of: scene.device) == 300_000)
    #expect(Files.bytes(scene.path + ".upload") == nil)
    // Another upload of the file begins anew, and is judged as any write.
    let again = try send()
    #expect(again.end == .exited(1) && again.output.contains("version_changed"), "\(again.output)")
  }

  @Test func `coffer request takes the refusal of a complete upload for its end`() throws {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let target = "/v1/blobs/\(Random.identifier())"
    let scene = try Scene(.sqlite, installation, sync, byteCount: 300_000, to: target)
    let keyFile = installation.directory + "/device.key"
    try Files.write(
      Base64.standard.encode(scene.device.key.seed.exposed) + "\n", to: keyFile, isSecret: true)
    let url = try scene.create()
    let stored = try scene.device.send(
      scene.device.sign("PUT", target, body: [1], headers: [("If-Match", "\"0\"")]))
    #expect(stored.status == 200)
    let digest = Base64.standard.encode(SHA256.hash(scene.content))
    try Files.write(
      "\(sync.url)\(target)\n\(digest)\n\(url)\n", to: scene.path + ".upload", isSecret: true)
    let sent = try installation.command(
      "request", "PUT", target, "--key-file", keyFile, "--url", sync.url, "--header",
      "If-Match: \"0\"", "--body", scene.path, "--resumable")
    #expect(sent.end == .exited(1) && sent.output.contains("blob_exists"), "\(sent.output)")
    #expect(Files.bytes(scene.path + ".upload") == nil)
  }

  /// Waits for the row of the only upload.
  private func waitUntil(_ byteCount: Int, isDurableIn installation: Installation) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    let deadline = MonotonicTime.now() + .seconds(240)
    while true {
      let durable = try database.read { reader in
        try reader.first("SELECT durable_bytes FROM sync.uploads") { row in try row.integer(0) }
      }
      if durable ?? 0 >= Int64(byteCount) { return }
      try #require(MonotonicTime.now() < deadline, "\(durable ?? 0) bytes are durable")
      usleep(100_000)
    }
  }

  private func tus(
    _ client: String, _ scene: Scene, _ sync: Server, _ options: [String] = []
  ) throws -> (output: String, status: Int32) {
    let words =
      [client, sync.url + scene.target, scene.path] + (try scene.session()) + options
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    return Shell.run(
      "\(Shell.python!) '\(Files.repository)/ops/interop/tus_clients.py' \(quoted) 2>&1")
  }
}

extension String {
  fileprivate var trimmed: String { String(split(separator: "\n").last ?? "") }
}
