import Base
import Crypto
import JSON
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct UsageTests {
  /// The ledger's sum, the account's total, and the size of its live rows.
  private struct Audit {
    let ledger: Int64
    let total: Int64
    let counted: Int64
    let records: Int64
    let countedRecords: Int64

    var isRight: Bool { ledger == total && counted == total && records == countedRecords }
  }

  private func audit(_ server: TestServer, _ account: Identifier) throws -> Audit {
    try server.database.read { reader in
      let deltas = try reader.rows(
        "SELECT delta_bytes FROM sync.usage_entries WHERE owner_id = $1", .id(account)
      ) { row in try row.integer(0) }
      let recorded = try reader.first(
        "SELECT usage_bytes, record_count FROM sync.accounts WHERE id = $1", .id(account)
      ) { row in (try row.integer(0), try row.integer(1)) }
      let sizes = try reader.rows(
        "SELECT content_bytes FROM sync.files WHERE owner_id = $1 AND deleted = 0", .id(account)
      ) { row in try row.integer(0) + 1000 }
      return Audit(
        ledger: deltas.reduce(0, +), total: recorded?.0 ?? -1, counted: sizes.reduce(0, +),
        records: recorded?.1 ?? -1, countedRecords: Int64(sizes.count))
    }
  }

  private func usage(_ device: TestDevice) throws -> Int64? {
    try device.get("/v1/account").json["usage"].integer
  }

  @Test(arguments: TestEngine.available)
  func `the total equals the ledger and a recount after any writes`(engine: TestEngine) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("usage seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine, freeByteCount: 100_000)
    let device = try server.register()
    var folders = [device.root]
    var documents: [Identifier] = []
    for step in 0..<60 {
      let folder = folders.randomElement(using: &random)!
      let document = documents.randomElement(using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0:
        let (id, answer) = try device.create("folder", parent: folder)
        if answer.status == 200 { folders.append(id) }
      case 1, 2: documents.append(try device.create(parent: folder).id)
      case 3 where folder != device.root: _ = try device.delete(folder)
      case 4:
        if let document, try device.get("/v1/files/\(document)").status == 200 {
          _ = try device.delete(document)
        }
      case 5: _ = try server.markDeleted(count: 2)
      default:
        let count = Int.random(in: 0...40_000, using: &random)
        if let document { _ = try device.put(document, Random.bytes(count), ifMatch: "*") }
      }
      let result = try audit(server, device.account)
      try #require(result.isRight, "seed \(seed), step \(step): \(result)")
      #expect(result.total <= 100_000)
    }
  }

  @Test(arguments: TestEngine.available)
  func `many writers together never pass the cap`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 60_000)
    let device = try server.register()
    let ids = try (0..<16).map { _ in try device.create().id }
    let refused = Locked(0)
    let threads = ids.map { id in
      Thread {
        let client = server.device(key: device.key, root: device.root)
        let answer = try? client.put(id, Random.bytes(10_000), ifMatch: "*")
        if answer?.status == 507 { refused.withLock { $0 += 1 } }
      }
    }
    for thread in threads { thread.join() }
    let result = try audit(server, device.account)
    #expect(result.total == 17_000 + 40_000)
    #expect(refused.withLock { $0 } == 12)
  }

  @Test(arguments: TestEngine.available)
  func `a deleted folder's space is back at once, and what lay beneath as it is swept`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    for _ in 0..<5 {
      let (id, _) = try device.create(parent: folder)
      #expect(try device.put(id, Random.bytes(500), ifMatch: "*").status == 200)
    }
    #expect(try usage(device) == 2000 + 5 * 1500)
    #expect(try device.delete(folder).status == 200)
    #expect(try usage(device) == 1000 + 5 * 1500)
    #expect(try server.markDeleted(count: 2))
    #expect(try usage(device) == 1000 + 3 * 1500)
    try server.sweepDeletions()
    #expect(try usage(device) == 1000)
    #expect(try audit(server, device.account).isRight)
  }

  @Test func `an account over its cap deletes, shrinks, renames and moves, but creates nothing`()
    throws
  {
    let server = try TestServer()
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let (id, _) = try device.create()
    let (other, _) = try device.create()
    #expect(try device.put(id, Random.bytes(20_000), ifMatch: "*").status == 200)
    try server.setCap(device.account, 5000, plan: "free", reason: "lapsed")
    let created = try device.create().answer
    #expect(created.status == 507)
    #expect(try created.json["reason"].string == "lapsed")
    #expect(try device.rename(id).status == 200)
    #expect(try device.move(id, to: folder).status == 200)
    #expect(try device.put(id, Random.bytes(19_000), ifMatch: "*").status == 200)
    #expect(try device.delete(other).status == 200)
    #expect(try usage(device) == 3000 + 19_000)
  }

  @Test(arguments: TestEngine.available)
  func `what a sharee writes is charged to the owner, whose cap holds for it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 10_000)
    let alice = try server.register()
    let bob = try server.register()
    let (folder, _) = try alice.create("folder")
    try alice.share(folder, with: bob, mode: "write")
    let (id, created) = try bob.create(parent: folder, owner: alice.account)
    #expect(created.status == 200)
    #expect(try bob.put(id, Random.bytes(2000), ifMatch: "*").status == 200)
    #expect(try usage(alice) == 5000)
    #expect(try usage(bob) == 2000)
    let over = try bob.put(id, Random.bytes(9000), ifMatch: "*")
    #expect(over.status == 507)
    #expect(try over.problem == "over_cap")
    #expect(try over.json["owner"].string == alice.account.description)
    #expect(try !over.json["usage"].exists && !over.json["plans"].exists)
    #expect(try bob.delete(id).status == 200)
    #expect(try usage(alice) == 2000)
  }
}
