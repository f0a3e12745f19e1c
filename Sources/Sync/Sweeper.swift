package import Base
package import Storage

/// Removes what has had its time: nonces, sessions, reservations and the objects nobody points to.
///
/// Everything goes in slices, each a write of its own, so that clearing a backlog never holds up
/// anybody's request for longer than a slice takes.
package final class Sweeper: Sendable {
  private static let sliceCountMax: Int64 = 500
  /// How long a download may still hold an object that was replaced.
  private static let garbageAge = Instant.Span.minutes(10)

  private let database: Database
  private let objects: ObjectStore
  private let clock: Clock
  private let stopping = Locked(false)
  private let thread = Locked<Thread?>(nil)

  package init(_ database: Database, _ objects: ObjectStore, clock: Clock) {
    self.database = database
    self.objects = objects
    self.clock = clock
  }

  package func start(every seconds: Int64) {
    let running = Thread { [self] in
      while stopping.wait(until: .now() + .seconds(seconds), { $0 ? true : nil }) == nil {
        do { try sweep() } catch {
          Log.warning("sweep.failed", ["error": String(reflecting: error)])
        }
      }
    }
    thread.withLock { $0 = running }
  }

  /// Returns once the sweep under way has ended.
  package func stop() {
    stopping.signal { $0 = true }
    thread.withLock { $0 }?.join()
  }

  /// One pass; returns when nothing that is due is left.
  package func sweep() throws {
    let now = clock.now()
    try inSlices { transaction in
      try transaction.execute(
        """
        DELETE FROM sync.nonces WHERE (public_key, nonce) IN (
          SELECT public_key, nonce FROM sync.nonces WHERE expires_ms <= $1
          ORDER BY expires_ms LIMIT $2)
        """, .instant(now), .integer(Self.sliceCountMax))
    }
    try inSlices { transaction in
      try transaction.execute(
        """
        DELETE FROM sync.sessions WHERE token_hash IN (
          SELECT token_hash FROM sync.sessions WHERE expires_ms <= $1
          ORDER BY expires_ms LIMIT $2)
        """, .instant(now), .integer(Self.sliceCountMax))
    }
    try inSlices { transaction in try Self.expireReservations(transaction, now) }
    try collect(now)
  }

  private func inSlices(_ slice: @escaping @Sendable (Transaction) throws -> Int) throws {
    var count = Self.sliceCountMax
    while count == Self.sliceCountMax, !stopping.withLock({ $0 }) {
      count = Int64(try database.write(for: nil, slice))
    }
  }

  private static func expireReservations(_ transaction: Transaction, _ now: Instant) throws -> Int {
    let expired = try transaction.rows(
      """
      SELECT object_id FROM sync.reservations WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT $2
      """, .instant(now), .integer(sliceCountMax)
    ) { row in try row.id(0) }
    for id in expired { try Reservations.release(transaction, id, now: now) }
    return expired.count
  }

  /// Deletes objects first and their rows after, so that a crash between repeats the deletion.
  private func collect(_ now: Instant) throws {
    while !stopping.withLock({ $0 }) {
      let due = try database.read { reader in
        try reader.rows(
          "SELECT object_id FROM sync.garbage WHERE since_ms <= $1 ORDER BY since_ms LIMIT $2",
          .instant(now - Self.garbageAge), .integer(Self.sliceCountMax)
        ) { row in try row.id(0) }
      }
      for id in due { try objects.delete(id) }
      guard !due.isEmpty else { return }
      try database.write(for: nil) { transaction in
        for id in due {
          try transaction.execute("DELETE FROM sync.garbage WHERE object_id = $1", .id(id))
        }
      }
    }
  }
}
