import Accounts
import Base
import Crypto
import Glibc
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// The most disk space that an account can take, whatever it does; counted in real bytes.
@Suite struct DiskTests {
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let cap: Int64

    init(_ engine: TestEngine, cap: Int64 = 1_000_000) throws {
      self.cap = cap
      server = try TestServer(engine, freeByteCount: cap)
      device = try server.register()
    }

    /// Three times the cap and 32 MiB.
    var bound: Int64 { 3 * cap + (32 << 20) }

    func put(_ id: Identifier, _ content: [UInt8]) throws -> Answer {
      try device.put(id, content, ifMatch: "*")
    }

    /// All objects, finished or not.
    var objectByteCount: Int64 { Self.byteCount(under: server.objectsDirectory) }

    private static func byteCount(under path: String) -> Int64 {
      Files.names(in: path).reduce(0) { sum, name in
        let child = "\(path)/\(name)"
        var status = stat()
        guard unsafe lstat(child, &status) == 0 else { return sum }
        return sum
          + (status.st_mode & S_IFMT == S_IFDIR ? byteCount(under: child) : Int64(status.st_size))
      }
    }

    var keptByteCount: Int64 {
      get throws {
        let account = try device.account
        return try server.database.read { reader in
          try reader.first("SELECT kept_bytes FROM sync.accounts WHERE id = $1", .id(account)) {
            row in try row.integer(0)
          }
        } ?? -1
      }
    }
  }

  private let content = Random.bytes(900_000)

  // MARK: Content

  @Test(arguments: TestEngine.available)
  func `content that is replaced in a hurry stays within the bound, and goes on once it is cleared`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let id = try scene.device.add()
    var refusals: Set<String?> = []
    for _ in 0..<60 {
      let answer = try scene.put(id, content)
      if answer.status != 200 { refusals.insert(try answer.problem) }
      #expect(scene.objectByteCount <= scene.bound)
    }
    #expect(refusals == ["too_much_replaced"])
    scene.server.clock.advance(.seconds(6))
    try scene.server.sweeper().sweepCrowds()
    #expect(scene.objectByteCount == 900_000)
    #expect(try scene.keptByteCount == 0)
    #expect(try scene.put(id, content).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `content that is made and deleted in a hurry stays within the bound`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    var refusals: Set<String?> = []
    for round in 0..<50 {
      let folder = try scene.device.add("folder")
      let id = try scene.device.add(in: folder)
      let answer = try scene.put(id, content)
      if answer.status != 200 { refusals.insert(try answer.problem) }
      try scene.device.delete(round % 2 == 0 ? id : folder).requireSuccess()
      try scene.server.sweepDeletions()
      #expect(scene.objectByteCount <= scene.bound)
    }
    #expect(refusals == ["too_much_replaced"])
  }

  @Test func `uploads that fail keep nothing once they are cleared away`() throws {
    let scene = try Scene(.sqlite)
    let id = try scene.device.add()
    for _ in 0..<50 {
      var request = scene.device.sign(
        "PUT", "/v1/files/\(id)/content", body: content, headers: [("If-Match", "*")])
      request.body[0] ^= 1
      #expect(try scene.device.send(request).status >= 400)
      #expect(scene.objectByteCount <= scene.bound)
    }
    try scene.server.sweeper().sweepCrowds()
    #expect(scene.objectByteCount == 0)
    #expect(try scene.put(id, content).status == 200)
    try scene.server.sweeper().sweep()
    #expect(try scene.keptByteCount == 0)
  }

  @Test(arguments: TestEngine.available)
  func `whoever saves a document of nearly the cap every second is never refused`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let id = try scene.device.add()
    let sweeper = scene.server.sweeper()
    for _ in 0..<60 {
      #expect(try scene.put(id, content).status == 200)
      scene.server.clock.advance(.seconds(1))
      try sweeper.sweepCrowds()
    }
  }

  @Test func `an account far above its cap may still shrink`() throws {
    let scene = try Scene(.sqlite)
    let id = try scene.device.add()
    try scene.server.setCap(
      scene.device.account, 100_000_000, plan: "premium", reason: "subscribed")
    #expect(try scene.put(id, Random.bytes(30_000_000)).status == 200)
    try scene.server.setCap(scene.device.account, 1_000_000, plan: "free", reason: "lapsed")
    #expect(try scene.put(id, Random.bytes(29_000_000)).status == 200)
  }

  // MARK: Records

  /// 500 records, which fit the cap once, are created and deleted again and again.
  @Test func `records that are made and deleted come to an end, and may be made again by and by`()
    throws
  {
    let scene = try Scene(.sqlite, cap: 501_000)
    let device = scene.device
    var answer: Answer?
    for _ in 0..<20 {
      let made = try (0..<500).map { _ in try device.creation() }
      let created = try device.batch(files: made)
      answer = created
      guard created.status == 200 else { break }
      let deletions = made.map { change in
        var file = change.file
        file.deleted = true
        return FileChange(expect: .at(parent: file.parent, hmac: file.name.hmac), file)
      }
      try device.batch(files: deletions).requireSuccess()
    }
    #expect(try answer?.problem == "creation_limited")
    #expect(answer?.status == 429)
    let rows = try scene.server.database.read { reader in
      try reader.first("SELECT count(*) FROM sync.files") { row in try row.integer(0) }
    }
    // Twice as many as the cap holds, and 5,000.
    let countMax: Int64 = 1 + 2 * 501 + 5000
    #expect(try #require(rows) <= countMax)
    let wait = try #require(answer?.header("Retry-After").flatMap { Int64($0) })
    scene.server.clock.advance(.seconds(wait))
    #expect(try device.batch(files: (0..<500).map { _ in try device.creation() }).status == 200)
  }

  @Test func `a clock that was set back by years keeps no account from creating records`() throws {
    let scene = try Scene(.sqlite)
    let later = scene.server.clock.now + .days(3650)
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute("UPDATE sync.accounts SET created_until_ms = $1", .instant(later))
    }
    _ = try scene.device.add()
  }

  // MARK: What would grow with every write

  /// As after 12,000 writes by a version that kept every entry, and 10,000 more.
  @Test(arguments: TestEngine.available)
  func `the ledger keeps the latest entries, and the sum of the older ones`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (id, account) = (try scene.device.add(), try scene.device.account)
    try scene.server.database.write(for: account) { transaction in
      for number in 0..<12_000 {
        try transaction.execute(
          """
          INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
          VALUES ($1, $2, $3, 'content_changed', $4, 0)
          """, .id(account), .integer(Int64(number) + 3), .integer(number % 2 == 0 ? 5 : -5),
          .id(id))
      }
    }
    var lines: [Int64] = []
    for round in 0..<20 {
      try scene.server.database.write(for: account) { transaction in
        _ = try transaction.execute(
          "UPDATE sync.accounts SET seq = $2 WHERE id = $1",
          .id(account), .integer(12_499 + 500 * Int64(round)))
      }
      let before = scene.server.database.writeWork
      try scene.device.put(id, Array("\(round)".utf8), ifMatch: "*").requireSuccess()
      let work = scene.server.database.writeWork - before
      #expect(work.changedRowCount <= 1020 && work.returnedRowCount <= 1020)
      lines.append(try lineCount(scene.server, account))
    }
    #expect(lines == lines.sorted(by: >))
    #expect(try #require(lines.last) <= 5500)
    let recount = Recount(
      scene.server.database, catalogue: scene.server.catalogue, protocols: [FileTrees.self])
    let finding = try #require(try recount.audit(account))
    #expect(finding.isRight)
    #expect(finding.ledger["content_changed"]?.entryCount == 12_020)
    let latest = try scene.server.database.read { reader in
      try UsageEntry.latest(reader, of: account, limit: 6000)
    }
    #expect(latest.prefix(5000).allSatisfy { $0.entryCount == 1 })
  }

  private func lineCount(_ server: TestServer, _ account: Identifier) throws -> Int64 {
    try server.database.read { reader in
      try reader.first(
        "SELECT count(*) FROM sync.usage_entries WHERE owner_id = $1", .id(account)
      ) { row in try row.integer(0) }
    } ?? 0
  }

  @Test(arguments: TestEngine.available)
  func `a file that comes and goes leaves one departure, and every reader learns of it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let (shared, hidden) = (try alice.add("folder"), try alice.add("folder"))
    let file = try alice.add(in: shared)
    try alice.share(shared, with: bob)
    var readers = [try bob.pulled()]
    for _ in 0..<5 {
      try alice.move(file, to: hidden).requireSuccess()
      readers.append(try bob.pulled())
      try alice.move(file, to: shared).requireSuccess()
      readers.append(try bob.pulled())
    }
    try alice.move(file, to: hidden).requireSuccess()
    let rows = try server.database.read { reader in
      try reader.rows("SELECT file_id FROM sync.departures") { row in try row.id(0) }
    }
    #expect(rows == [file])
    let fresh = try bob.pulled()
    for var reader in readers {
      try reader.pull()
      #expect(reader.ids == fresh.ids && reader.troubles == [])
    }
  }
}
