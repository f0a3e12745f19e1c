import Base
import Configuration
import Crypto
import JSON
import SeededRandom
import StripeSamples
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Several instances of each program on one PostgreSQL and one bucket, behind nginx, as in `ops/scale-test` and
/// docs/scaling.md. They share no directory: each has its own for temporary files, and nothing else.
///
/// One after the other: the four programs of one test take 50 connections of the cluster's 200.
@Suite(
  .serialized,
  .enabled(
    if: TestRun.isFull && Balancer.isAvailable && TestEngine.available.contains(.postgres)
      && !TestStore.buckets.isEmpty))
struct ScaleTests {
  private let installation: Installation
  private let syncs: [Server]
  private let billings: [Server]
  private let balancer: Balancer
  /// What each machine has of its own.
  private let scratch: [ScratchDirectory]

  init() throws {
    let store = try #require(TestStore.buckets.first)
    let installation = try Installation(
      .postgres, settings: store.settings.merging(["COFFER_TRUSTED_PROXIES": "127.0.0.1"]) { $1 })
    self.installation = installation
    scratch = try (0..<2).map { _ in try ScratchDirectory() }
    syncs = try scratch.map { try Self.start(on: $0, installation) }
    billings = try (0..<2).map { _ in try installation.start(.billing) }
    balancer = try Balancer(sync: syncs, billing: billings)
  }

  private static func start(
    on machine: ScratchDirectory, _ installation: Installation, port: UInt16? = nil
  ) throws -> Server {
    let server = try installation.launch(.sync, port: port, settings: ["TMPDIR": machine.path])
    try server.waitUntilReady()
    return server
  }

  /// A device that uses whichever instance nginx chooses. It has its own account unless `key` is given.
  private func device(_ key: Ed25519PrivateKey? = nil, port: UInt16? = nil) throws -> TestDevice {
    let device = TestDevice(
      port: port ?? balancer.syncPort, authority: Installation.authority,
      key: key ?? Ed25519PrivateKey(), root: Random.identifier()
    ) { Clock.system.now() }
    if key == nil {
      let answer = try device.post("/v1/accounts", ["root": .string(device.root.description)])
      guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    }
    return device
  }

  @Test func `an instance that is killed under load loses no acknowledged write`() throws {
    let seed = SeededGenerator.seed(of: "scale")
    let writers = try (0..<4).map { try Writer(device(), seed: seed &+ UInt64($0)) }
    let senders = (0..<2).map { _ in Sender(port: balancer.billingPort) }
    let threads =
      writers.map { writer in Thread { writer.write(times: 150) } }
      + senders.map { sender in Thread { sender.send(times: 150) } }
    // Repeatedly kills one of each without warning, and starts another on its port.
    var living = (sync: syncs, billing: billings)
    for round in 0..<4 {
      _ = Locked(()).wait(until: .now() + .milliseconds(400)) { _ in Void?.none }
      let place = round % 2
      living.sync[place].kill()
      living.billing[place].kill()
      living.sync[place] = try Self.start(
        on: scratch[place], installation, port: living.sync[place].port)
      living.billing[place] = try installation.start(.billing, port: living.billing[place].port)
    }
    for thread in threads { thread.join() }

    // A request that nginx repeated at the other instance took effect once, and each instance gives the same
    // answers.
    for writer in writers {
      try writer.check()
      for server in living.sync {
        try writer.check(through: device(writer.device.key, port: server.port))
      }
    }
    #expect(senders.flatMap(\.trouble) == [])
    #expect(senders.compactMap(\.lost).isEmpty)
    for server in living.sync + living.billing {
      #expect(server.stop() == .exited(0), "\(server.lastWords)")
    }
    #expect(Files.paths(under: installation.directory).filter { $0.contains("objects") } == [])
    #expect(scratch.flatMap { Files.paths(under: $0.path) } == [])
    try Books(installation).expectWhole(accountCount: 4)
    try Deliveries(installation).expectEach(of: senders.flatMap(\.acknowledged))
  }

  @Test func `one request that two instances get at once takes place once`() throws {
    let writer = try device()
    for _ in 0..<20 {
      let (id, created) = try writer.create()
      #expect(created.status == 200)
      let request = writer.sign(
        "PUT", "/v1/files/\(id)/content", body: Random.bytes(500), headers: [("If-Match", "*")])
      let answers = Locked<[Answer?]>([])
      let threads = syncs.map { server in
        Thread {
          let other = try? self.device(writer.key, port: server.port)
          let answer = try? other?.send(request)
          answers.withLock { $0.append(answer) }
        }
      }
      for thread in threads { thread.join() }
      let told = try answers.withLock { $0 }.map { answer in
        let answer = try #require(answer)
        #expect(answer.status == 200)
        return try answer.json["version"].integer
      }
      // A second write would have made another version.
      let version = try writer.get("/v1/files/\(id)").json["content"]["version"].integer
      #expect(told == [version, version])
    }
  }

  @Test func `a session counts at every instance, and nowhere once it ended`() throws {
    let owner = try device()
    let opened = try owner.send(owner.sign("POST", "/v1/sessions"))
    let token = try #require(try opened.json["token"].string)
    func ask(_ server: Server, _ method: String, _ target: String) throws -> Int {
      let device = try device(owner.key, port: server.port)
      let request = TestDevice.Signed(
        method: method, target: target,
        headers: [("Host", Installation.authority), ("Authorization", "Bearer \(token)")], body: [])
      return try device.send(request).status
    }
    for server in syncs { #expect(try ask(server, "GET", "/v1/account") == 200) }
    #expect(try ask(syncs[1], "DELETE", "/v1/sessions/current") == 204)
    for server in syncs { #expect(try ask(server, "GET", "/v1/account") == 401) }
  }

  @Test func `a key that is revoked at one instance is refused at the other`() throws {
    let owner = try device(port: syncs[0].port)
    let key = Ed25519PrivateKey()
    #expect(try owner.post("/v1/devices", owner.admission(of: key)).status == 201)
    let second = try device(key, port: syncs[1].port)
    #expect(try second.get("/v1/account").status == 200)
    #expect(try owner.revoke(key: key.publicKey.bytes).status == 204)
    #expect(try second.get("/v1/account").problem == "revoked_key")
  }

  @Test func `two sweepers free the room of a deleted folder once`() throws {
    let owner = try device()
    let (folder, made) = try owner.create("folder")
    #expect(made.status == 200)
    for _ in 0..<30 { _ = try owner.create(parent: folder) }
    #expect(try owner.delete(folder).status == 200)
    let deadline = MonotonicTime.now() + .seconds(60)
    while try owner.get("/v1/account").json["usage"].integer != 1000 {
      guard MonotonicTime.now() < deadline else { throw ScenarioError("the room is never freed") }
      _ = Locked(()).wait(until: .now() + .milliseconds(100)) { _ in Void?.none }
    }
    for server in syncs + billings { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
    try Books(installation).expectWhole(accountCount: 1)
  }
}
