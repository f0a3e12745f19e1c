import Base
import Crypto
import SeededRandom
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct UsageTests {
  /// The ledger's sum, the account's total, and what its rows really hold.
  private func audit(
    _ database: Database, _ account: Identifier
  ) throws -> (ledger: Int64, total: Int64, counted: Int64) {
    try database.read { reader in
      let deltas = try reader.rows(
        "SELECT delta_bytes FROM sync.usage_entries WHERE owner_id = $1", .id(account)
      ) { row in try row.integer(0) }
      let total = try reader.first(
        "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account)
      ) { row in try row.integer(0) }
      let sizes = try reader.rows(
        "SELECT content_bytes FROM sync.files WHERE owner_id = $1", .id(account)
      ) { row in try row.integer(0) + 1000 }
      return (deltas.reduce(0, +), total ?? -1, sizes.reduce(0, +))
    }
  }

  @Test(arguments: TestEngine.available)
  func `the total equals the ledger and a recount after any writes`(engine: TestEngine) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("usage seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine, freeByteCount: 100_000)
    let device = try server.register()
    let ids = try (0..<3).map { _ in try device.create().id }
    for _ in 0..<30 {
      let count = Int.random(in: 0...40_000, using: &random)
      let id = ids.randomElement(using: &random)!
      _ = try device.put(id, Random.bytes(count), ifMatch: "*")
    }
    let result = try audit(server.database, device.account)
    #expect(result.ledger == result.total)
    #expect(result.counted == result.total)
    #expect(result.total <= 100_000)
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
    let result = try audit(server.database, device.account)
    #expect(result.total == 17_000 + 40_000)
    #expect(refused.withLock { $0 } == 12)
  }
}
