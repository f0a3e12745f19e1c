import Base
import Configuration
import Crypto
import Glibc
import RawClient
import Storage
import TestDevices
import TestEngines
import TestFiles
import Testing

/// `kill -9` during uploads leaves nothing that blocks anything.
@Suite(.serialized) struct UploadCrashTests {
  private struct Upload {
    let request: TestDevice.Signed
    let client: RawClient

    /// Sends the head and half of the body of a document's first content.
    init(_ device: TestDevice, _ sync: Server, byteCount: Int) throws {
      let (id, created) = try device.create()
      guard created.status == 200 else { throw UnexpectedAnswer(created) }
      request = device.sign(
        "PUT", "/v1/files/\(id)/content", body: Random.bytes(byteCount),
        headers: [("If-Match", "\"0\"")])
      client = try #require(RawClient(connectingTo: sync.port))
      let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
      client.send(
        "PUT \(request.target) HTTP/1.1\r\n\(fields)Content-Length: \(byteCount)\r\n\r\n")
      client.send(Array(request.body.prefix(byteCount / 2)))
    }

    func sendRest() { client.send(Array(request.body.dropFirst(request.body.count / 2))) }
  }

  private func reservationCount(_ installation: Installation) throws -> Int64 {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    return try database.read { reader in
      try reader.first("SELECT count(*) FROM sync.reservations") { try $0.integer(0) } ?? 0
    }
  }

  private func waitUntil(_ what: String, _ condition: () throws -> Bool) throws {
    // A lease in a bucket ends after two minutes, and it is looked for every half a minute.
    let deadline = MonotonicTime.now() + .seconds(240)
    while try !condition() {
      try #require(MonotonicTime.now() < deadline, "it never comes to pass that \(what)")
      usleep(5000)
    }
  }

  /// Waits for `count` uploads that have begun to arrive.
  private func temporaryFiles(_ installation: Installation, count: Int) throws {
    let directory = installation.directory + "/objects/tmp"
    try waitUntil("\(count) uploads are there") { Files.names(in: directory).count == count }
  }

  @Test(arguments: TestEngine.available)
  func `uploads that a crash cut off are in nobody's way after the next start`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine)
    let sync = try installation.start(.sync)
    // One upload that takes all the room of one account, and the most uploads that another may have.
    let (one, other) = (try installation.device(of: sync), try installation.device(of: sync))
    let large = try Upload(one, sync, byteCount: 900_000)
    let many = try (0..<16).map { _ in try Upload(other, sync, byteCount: 20_000) }
    try temporaryFiles(installation, count: 17)
    sync.kill()
    let next = try installation.start(.sync, port: sync.port)
    try temporaryFiles(installation, count: 0)
    #expect(try one.send(large.request).status == 200)
    let (id, _) = try other.create()
    #expect(try other.put(id, Random.bytes(20_000), ifMatch: "*").status == 200)
    #expect(try many.allSatisfy { try other.send($0.request).status == 200 })
    #expect(next.stop() == .exited(0))
    try Books(installation).expectWhole(accountCount: 2)
  }

  /// Of another machine's program only its lease tells whether it still runs.
  @Test(.enabled(if: TestRun.isFull), arguments: TestEngine.available, TestStore.buckets)
  func `with a bucket, repeats take over at once, and the room is free when the lease has ended`(
    engine: TestEngine, store: TestStore
  ) throws {
    let installation = try Installation(engine, settings: store.settings)
    let sync = try installation.start(.sync)
    let (one, other) = (try installation.device(of: sync), try installation.device(of: sync))
    let large = try Upload(one, sync, byteCount: 900_000)
    let many = try (0..<16).map { _ in try Upload(other, sync, byteCount: 20_000) }
    try waitUntil("17 uploads have begun") { try reservationCount(installation) == 17 }
    sync.kill()
    let next = try installation.start(.sync, port: sync.port)
    #expect(try one.send(large.request).status == 200)
    #expect(try other.send(many[0].request).status == 200)
    try waitUntil("no reservation is left") { try reservationCount(installation) == 0 }
    let (id, _) = try other.create()
    #expect(try other.put(id, Random.bytes(20_000), ifMatch: "*").status == 200)
    #expect(next.stop() == .exited(0))
    try Books(installation).expectWhole(accountCount: 2)
  }

  @Test(arguments: TestEngine.available, TestStore.all)
  func `a program that starts leaves alone what another one has under way`(
    engine: TestEngine, store: TestStore
  ) throws {
    let installation = try Installation(engine, settings: store.settings)
    let sync = try installation.start(.sync)
    let upload = try Upload(installation.device(of: sync), sync, byteCount: 900_000)
    try waitUntil("the upload has begun") { try reservationCount(installation) == 1 }
    let other = try installation.start(.sync)
    upload.sendRest()
    #expect(upload.client.receiveResponse()?.status == 200)
    #expect(other.stop() == .exited(0))
    #expect(sync.stop() == .exited(0))
  }
}
