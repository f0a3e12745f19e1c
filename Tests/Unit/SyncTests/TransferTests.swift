import Accounts
import Base
import Crypto
import JSON
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Transferred content is counted for the owner of the file, by month.
@Suite struct TransferTests {
  /// The account's transfers after a flush: month, sent, received.
  private func told(_ device: TestDevice, _ server: TestServer) throws -> [String] {
    try server.api.host.transfers.flush()
    return try device.get("/v1/account").json["transfer"].requireArray().map { month in
      let sent = try month["sent"].requireInteger()
      let received = try month["received"].requireInteger()
      return "\(try month["month"].requireString()) \(sent) \(received)"
    }
  }

  private func totals(_ database: Database) throws -> [Identifier: [Int64]] {
    let rows = try database.read { reader in
      try reader.rows("SELECT owner_id, sent_bytes, received_bytes FROM sync.transfers") { row in
        (try row.id(0), [try row.integer(1), try row.integer(2)])
      }
    }
    return Dictionary(rows) { first, _ in first }
  }

  @Test(arguments: ContentPlace.all)
  func `accepted content and downloads are counted, small and large`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    #expect(try told(device, server) == ["2026-05 0 0", "2026-04 0 0"])
    let (id, _) = try device.create()
    #expect(try device.put(id, Random.bytes(100), ifMatch: "*").status == 200)
    #expect(try device.put(id, Random.bytes(20_000), ifMatch: "*").status == 200)
    #expect(try device.get("/v1/files/\(id)/content").status == 200)
    #expect(try told(device, server) == ["2026-05 20000 20100", "2026-04 0 0"])
  }

  @Test func `a part counts as its part, and what holds no content counts as nothing`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let written = try device.put(id, Random.bytes(1000), ifMatch: "*")
    let target = "/v1/files/\(id)/content"
    let tag = try #require(written.header("ETag"))
    #expect(try device.get(target, headers: [("Range", "bytes=0-9")]).status == 206)
    #expect(try device.get(target, headers: [("If-None-Match", tag)]).status == 304)
    #expect(try device.send(device.sign("HEAD", target)).status == 200)
    #expect(try device.get(target, headers: [("If-Match", "\"7000\"")]).status == 412)
    #expect(try told(device, server).first == "2026-05 10 1000")
  }

  @Test(arguments: [500, 20_000])
  func `a write that is refused counts as nothing, and a repeated one once`(
    byteCount: Int
  ) throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let request = device.sign(
      "PUT", "/v1/files/\(id)/content", body: Random.bytes(byteCount), headers: [("If-Match", "*")])
    #expect(try device.send(request).status == 200)
    #expect(try device.send(request).status == 200)
    #expect(try device.put(id, Random.bytes(byteCount), ifMatch: "\"7000\"").status == 412)
    #expect(try told(device, server).first == "2026-05 0 \(byteCount)")
  }

  @Test func `what a sharee reads and writes is counted for the owner`() throws {
    let server = try TestServer()
    let owner = try server.register()
    let sharee = try server.register()
    let (id, _) = try owner.create()
    try owner.share(id, with: sharee, mode: "write")
    #expect(try sharee.put(id, Random.bytes(300), ifMatch: "*").status == 200)
    #expect(try sharee.get("/v1/files/\(id)/content").status == 200)
    #expect(try told(owner, server).first == "2026-05 300 300")
    #expect(try told(sharee, server).first == "2026-05 0 0")
  }

  @Test func `a commit and a message of a chain count for who sent them, and once`() throws {
    let server = try TestServer()
    let devices = try server.devices(2)
    let device = devices[0]
    let head = try device.chain(with: [devices[1]])
    let made = MadeCommit(device.block(after: head), body: [1, 2, 3])
    for _ in 0..<2 { try device.commit(made).requireSuccess() }
    let id = Random.identifier()
    for _ in 0..<2 { try device.tell(KnownHead(made.block), id).requireSuccess() }
    #expect(try told(device, server).first == "2026-05 0 4")
  }

  @Test func `messages of a log count as received, and once`() throws {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    let message = SentMessage(server.stamp(), [1, 2, 3])
    for _ in 0..<2 { try device.append([message], to: log).requireSuccess() }
    #expect(try told(device, server).first == "2026-05 0 3")
  }

  @Test func `a budget and its messages count as received, and once`() throws {
    let server = try TestServer(actualAuthorities: [ActualClient.host])
    let device = try server.register()
    let client = try ActualClient(server, of: device)
    let file = "0f8fad5b-d9cb-469f-a165-70867728950e"
    let group = try client.create(file, [1, 2, 3])
    let message = SentMessage(server.stamp(), [4])
    for _ in 0..<2 { #expect(try client.sync(file, group: group, [message]).status == 200) }
    try server.api.host.transfers.flush()
    let received = try totals(server.database)[device.account]?[1]
    #expect(received == Int64(3 + ActualClient.field(3, [4]).count))
  }

  @Test func `messages of a budget count as received, also if those after them are refused`()
    throws
  {
    let server = try TestServer(actualAuthorities: [ActualClient.host])
    let device = try server.register()
    let client = try ActualClient(server, of: device)
    let group = try client.create("budget", [1, 2, 3])
    let content = [UInt8](repeating: 4, count: 60_000)
    // More than one transaction appends, and more than the cap and a mebibyte take.
    let messages = (0..<40).map { SentMessage(server.stamp(counter: $0), content) }
    #expect(try client.sync("budget", group: group, messages).status == 507)
    let stored = try #require(try device.get("/v1/logs").json["logs"][0]["messages"].integer)
    #expect(stored > 0)
    try server.api.host.transfers.flush()
    let received = try totals(server.database)[device.account]?[1]
    #expect(received == 3 + stored * Int64(ActualClient.field(3, content).count))
  }

  @Test func `another month begins at nothing and shows the one before it`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    _ = try device.put(id, Random.bytes(400), ifMatch: "*")
    server.clock.advance(.days(10))
    #expect(try device.get("/v1/files/\(id)/content").status == 200)
    #expect(try told(device, server) == ["2026-06 400 0", "2026-05 0 400"])
    server.clock.advance(.days(30 * 6 + 15))
    #expect(try told(device, server) == ["2026-12 0 0", "2026-11 0 0"])
    server.clock.advance(.days(31))
    #expect(try told(device, server) == ["2027-01 0 0", "2026-12 0 0"])
  }

  @Test(arguments: TestEngine.available)
  func `instances that count at the same time add up`(engine: TestEngine) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("transfers seed \(seed)")
    let server = try TestServer(engine)
    let owners = (0..<50).map { _ in Random.identifier() }
    let expected = Locked<[Identifier: [Int64]]>([:])
    let threads = (0..<4).map { number in
      Thread {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        let counter = TransferCounter(server.database, clock: server.clock.clock)
        for _ in 0..<400 {
          let owner = owners.randomElement(using: &random)!
          let bytes = (0..<2).map { _ in Int64.random(in: 0...1000, using: &random) }
          counter.sent(bytes[0], of: owner)
          counter.received(bytes[1], of: owner)
          expected.withLock { all in
            let sums = all[owner] ?? [0, 0]
            all[owner] = [sums[0] + bytes[0], sums[1] + bytes[1]]
          }
          if Int.random(in: 0..<20, using: &random) == 0 { try? counter.flush() }
        }
        counter.stop()
      }
    }
    for thread in threads { thread.join() }
    let isEqual = try totals(server.database) == expected.withLock { $0 }
    #expect(isEqual)
  }

  @Test(arguments: TestEngine.available)
  func `counts outlive a database that takes none, and are added once`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let counter = TransferCounter(server.database, clock: server.clock.clock)
    let owner = Random.identifier()
    func run(_ sql: String) throws {
      try server.database.write(for: nil) { transaction in _ = try transaction.execute(sql) }
    }
    try run("ALTER TABLE sync.transfers RENAME TO elsewhere")
    for _ in 0..<3 {
      counter.sent(5, of: owner)
      #expect(throws: (any Error).self) { try counter.flush() }
    }
    try run("ALTER TABLE sync.elsewhere RENAME TO transfers")
    counter.received(7, of: owner)
    try counter.flush()
    try counter.flush()
    #expect(try totals(server.database) == [owner: [15, 7]])
  }

  @Test func `any number of owners is flushed, in several transactions`() throws {
    let server = try TestServer()
    let counter = TransferCounter(server.database, clock: server.clock.clock)
    for _ in 0..<2500 { counter.sent(1, of: Random.identifier()) }
    try counter.flush()
    #expect(try totals(server.database).count == 2500)
  }

  @Test func `a thousand owners are flushed without waiting, the rest at the end`() throws {
    let server = try TestServer()
    let counter = TransferCounter(server.database, clock: server.clock.clock)
    counter.start()
    for _ in 0..<1000 { counter.sent(1, of: Random.identifier()) }
    let deadline = MonotonicTime.now() + .seconds(8)
    var count = 0
    while count < 1000, MonotonicTime.now() < deadline {
      count = try totals(server.database).count
    }
    #expect(count == 1000)
    counter.sent(1, of: Random.identifier())
    counter.stop()
    #expect(try totals(server.database).count == 1001)
  }
}
