import Base
import Crypto
import Repair
import Storage
import TestEngines
import Testing

/// Deliveries are sealed again while others write. On PostgreSQL a row may change after it was read.
@Suite(.enabled(if: TestEngine.postgresURL != nil, "COFFER_TEST_POSTGRES is not set"))
struct ResealingTests {
  @Test func `a delivery that is erased while it is sealed again stays erased`() throws {
    let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
    let sealing = try SealingKeys([Secret(new), Secret(old)])
    let sealed = try SealingKeys([Secret(old)]).seal([1, 2, 3], context: Array("stripe|evt".utf8))
    let scratch = try ScratchDatabase(.postgres, with: .schemas)
    let database = try Database.open(scratch.location, owning: .billing)
    defer { database.close() }
    let other = try Database.open(scratch.location, owning: .billing)
    defer { other.close() }
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
          received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
        VALUES (1, 'stripe', 'live', 'evt', $1, 'invoice.paid', 0, 3, 'recorded', 0, 0, $1)
        """, .blob(sealed))
    }
    let isHeld = Locked(false)
    let count = Locked<Result<Int64, any Error>?>(nil)
    let thread = Thread {
      _ = isHeld.wait { $0 ? true : nil }
      let result: Result<Int64, any Error> = Result {
        var resealing = Resealing(database, sealing)
        try resealing.run { _ in }
        return resealing.count
      }
      count.signal { $0 = result }
    }
    try other.write(for: nil) { transaction in
      try transaction.execute("UPDATE billing.deliveries SET sealed = $1", .blob([]))
      isHeld.signal { $0 = true }
      try Self.waitForLock(database)
    }
    thread.join()
    let resealed = try #require(count.withLock { $0 }).get()
    #expect(resealed == 0)
    let left = try database.read { reader in
      try reader.first("SELECT sealed FROM billing.deliveries") { try $0.blob(0) }
    }
    #expect(left?.isEmpty == true)
  }

  /// Returns when a transaction waits for another's lock.
  private static func waitForLock(_ database: Database) throws {
    let deadline = MonotonicTime.now() + .seconds(30)
    var count: Int64 = 0
    while count == 0 {
      try #require(MonotonicTime.now() < deadline)
      count =
        try database.read { reader in
          try reader.first(
            """
            SELECT CAST(count(*) AS BIGINT) FROM pg_catalog.pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = pg_catalog.current_database()
            """
          ) { try $0.integer(0) }
        } ?? 0
    }
  }
}
