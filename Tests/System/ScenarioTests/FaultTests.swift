import Base
import Configuration
import Crypto
import Glibc
import JSON
import SQLite
import TestDevices
import TestEngines
import Testing

/// The real programs with a full disk, a held lock, or a missing file.
@Suite struct FaultTests {
  @Test(
    .enabled(if: SmallDisk.isAvailable, "mounting a tmpfs needs root and is refused here"))
  func `a full disk is a typed 503, breaks no promise, and heals without a restart`() throws {
    let disk = try SmallDisk(byteCount: 3 << 20)
    let installation = try Installation(directory: disk.path)
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let device = try installation.device(of: sync)
    let documents = try [4_000, 40_000].map { byteCount in
      try Document(device, byteCount: byteCount)
    }
    let sender = Sender(port: billing.port)

    var isFull = (sync: false, billing: false)
    for _ in 0..<2000 where !(isFull.sync && isFull.billing) {
      for document in documents where try !document.write() { isFull.sync = true }
      if let refusal = try sender.refusal() {
        expectUnavailable(refusal)
        isFull.billing = true
      }
    }
    #expect(isFull == (true, true), "the disk never filled")
    for document in documents { try document.check() }
    #expect(try device.get("/v1/account").status == 200)

    try disk.resize(byteCount: 64 << 20)
    for document in documents {
      #expect(try document.write())
      try document.check()
    }
    sender.send(times: 3)
    #expect(sender.trouble == [])
    for server in [sync, billing] { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
    try Books(installation).expectWhole(accountCount: 1)
    try Deliveries(installation).expectEach(of: sender.acknowledged)
    for schema in ["sync", "billing"] {
      let file = try SQLiteConnection(
        file: "\(disk.path)/database/\(schema).db", busyTimeoutMilliseconds: 5000)
      let damage = "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
      #expect(try file.integer(damage) == 0)
    }
  }

  @Test func `a database locked by another program is a typed 503, and reads go on`() throws {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let document = try Document(installation.device(of: sync), byteCount: 4000)
    #expect(try document.write())
    let sender = Sender(port: billing.port)
    let locks = try ["sync", "billing"].map { schema in
      let lock = try SQLiteConnection(
        file: "\(installation.directory)/database/\(schema).db", busyTimeoutMilliseconds: 5000)
      try lock.execute("BEGIN IMMEDIATE")
      return lock
    }
    #expect(try !document.write())
    expectUnavailable(try #require(try sender.refusal()))
    try document.check()

    for lock in locks { try lock.execute("COMMIT") }
    #expect(try document.write())
    try document.check()
    sender.send(times: 1)
    #expect(sender.trouble == [])
    for server in [sync, billing] { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
  }

  @Test(
    .enabled(if: SmallDisk.isAvailable, "mounting a tmpfs needs root and is refused here"),
    arguments: TestEngine.available)
  func `a content that does not fit is a typed 503, and its space is free again`(
    engine: TestEngine
  ) throws {
    let disk = try SmallDisk(byteCount: 8 << 20)
    let installation = try Installation(engine, directory: disk.path)
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let neighbour = try Document(device, byteCount: 40_000)
    #expect(try neighbour.write())
    let large = try device.create().id
    let usage = try device.get("/v1/account").json["usage"].integer

    try disk.fill(leaving: 400_000)
    let request = device.sign(
      "PUT", "/v1/files/\(large)/content", body: Random.bytes(500_000),
      headers: [("If-Match", "*")])
    expectUnavailable(try device.send(request))
    #expect(try device.get("/v1/account").json["usage"].integer == usage)
    try neighbour.check()
    #expect(try neighbour.write())

    try disk.resize(byteCount: 64 << 20)
    #expect(try device.send(request).status == 200)
    #expect(try device.get("/v1/files/\(large)/content").holds(request.body))
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try Books(installation).expectWhole(accountCount: 1)
  }

  @Test(arguments: Damage.allCases)
  func `a content whose file is damaged is a typed 503, and can be written again`(
    damage: Damage
  ) throws {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let document = try Document(device, byteCount: 40_000)
    #expect(try document.write())
    #expect(damage.isDone(to: "\(installation.directory)/objects"))
    let neighbour = try Document(device, byteCount: 40_000)
    #expect(try neighbour.write())

    for headers in [[], [("Range", "bytes=39990-39999")]] {
      let answer = try document.read(headers)
      #expect(answer.status == 503)
      #expect(try answer.problem == damage.problem)
      #expect(answer.header("Retry-After") != nil)
    }
    try neighbour.check()
    #expect(try document.write())
    try document.check()
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }
}

/// Damage to content files by a failing disk or a careless person.
enum Damage: String, CaseIterable {
  case missing = "rm"
  case cutShort = "truncate --size 20000"
  case emptied = "truncate --size 0"
  case grown = "truncate --size 80000"
  case directory = "sh -c 'rm $0 && mkdir $0'"
  case link = "ln --force --symbolic /etc/hostname"

  func isDone(to directory: String) -> Bool {
    unsafe system("find '\(directory)' -type f -execdir \(rawValue) '{}' ';'") == 0
  }

  /// A link is not followed, so the object cannot even be opened.
  var problem: String { self == .link ? "storage_unavailable" : "content_unavailable" }
}

/// A document that is rewritten, with its last acknowledged content.
private final class Document {
  private let device: TestDevice
  private let id: Identifier
  private let byteCount: Int
  private var content: [UInt8] = []

  init(_ device: TestDevice, byteCount: Int) throws {
    self.device = device
    self.byteCount = byteCount
    let file = try device.create()
    guard file.answer.status == 200 else { throw UnexpectedAnswer(file.answer) }
    id = file.id
  }

  /// Writes fresh bytes; false if they are refused as they should be.
  func write() throws -> Bool {
    let fresh = Random.bytes(byteCount)
    let answer = try device.put(id, fresh, ifMatch: "*")
    if answer.status == 200 {
      content = fresh
      return true
    }
    expectUnavailable(answer)
    return false
  }

  func read(_ headers: [(String, String)] = []) throws -> Answer {
    try device.get("/v1/files/\(id)/content", headers: headers)
  }

  func check() throws {
    let answer = try read()
    #expect(answer.status == 200)
    #expect(answer.holds(content))
  }
}

private func expectUnavailable(_ answer: Answer) {
  #expect(answer.status == 503)
  let problems = ["storage_unavailable", "busy"]
  #expect(throws: Never.self) { try #require(problems.contains(answer.problem ?? "")) }
  #expect(answer.header("Retry-After") != nil)
}
