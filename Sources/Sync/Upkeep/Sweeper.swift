package import Base
package import Storage
package import Tiers

/// Removes what has had its time: nonces, sessions, reservations, the objects nobody points to, uploads
/// that a crash cut off, what lies beneath deleted folders, and news too old for any client's cursor.
///
/// Everything goes in slices, each a write of its own, so that clearing a backlog never holds up
/// anybody's request for longer than a slice takes.
package final class Sweeper: Sendable {
  static let sliceCountMax: Int64 = 500
  /// How long a download may still hold an object that was replaced.
  private static let garbageAge = Instant.Span.minutes(10)
  /// The same where an account keeps much: a download opens what it has read of at once.
  private static let crowdedGarbageAge = Instant.Span.seconds(5)

  private let database: Database
  private let objects: ObjectStore
  private let catalogue: Catalogue
  private let limits: SyncLimits
  private let clock: Clock
  private let isStopping = Locked(false)
  private let periods = Locked<[Periodic]>([])

  package init(
    _ database: Database, _ objects: ObjectStore, catalogue: Catalogue, limits: SyncLimits,
    clock: Clock
  ) {
    self.database = database
    self.objects = objects
    self.catalogue = catalogue
    self.limits = limits
    self.clock = clock
  }

  /// Clears away every so many seconds, and looks for deletions, and for accounts that keep too much,
  /// every second: space is waiting.
  package func start(every seconds: Int64) {
    let started = [
      Periodic("sweep", every: seconds) { [self] in try sweep() },
      Periodic("deletions", every: 1) { [self] in try sweepDeletions() },
      Periodic("crowds", every: 1) { [self] in try sweepCrowds() },
      Periodic("erasures", every: 5) { [self] in try sweepErasures() },
    ]
    periods.withLock { $0 = started }
  }

  /// Returns once the sweeps under way have ended their slices.
  package func stop() {
    isStopping.signal { $0 = true }
    for period in periods.withLock({ $0 }) { period.stop() }
  }

  /// Marks what lies beneath deleted folders; returns when none is waiting.
  ///
  /// After each slice it stands back for as long as that took, so that it never takes more than half
  /// of the writer's time.
  package func sweepDeletions() throws { try untilDone { try sweepDeletion() } }

  /// One slice of at most `count` files; false where nothing is waiting.
  package func sweepDeletion(count: Int = Deletions.sliceCountMax) throws -> Bool {
    let now = clock.now()
    let fee = catalogue.metadataFeeByteCount
    return try database.write(for: nil) { transaction in
      try Deletions.sweep(transaction, metadataFeeByteCount: fee, now: now, count: count)
    }
  }

  /// Erases the accounts whose time has come; returns when none is due.
  package func sweepErasures() throws {
    try untilDone(sweepErasure)
    let horizon = clock.now() - limits.deletionHorizon - Pruning.margin
    try untilDone {
      try database.write(for: nil) { try AccountErasure.forget($0, before: horizon) }
    }
  }

  /// One slice of an erasure; false where none is due.
  package func sweepErasure() throws -> Bool {
    let now = clock.now()
    return try database.write(for: nil) { try AccountErasure.sweep($0, now: now) }
  }

  /// A slice after the other, and as long a pause after each, until none is left.
  private func untilDone(_ slice: () throws -> Bool) throws {
    var isWaiting = true
    while isWaiting, !isStopping.withLock({ $0 }) {
      let start = MonotonicTime.now()
      isWaiting = try slice()
      let pause = Int64(MonotonicTime.now().seconds(since: start) * 1000)
      if isWaiting { _ = isStopping.wait(until: .now() + .milliseconds(pause)) { $0 ? true : nil } }
    }
  }

  /// Ends the uploads of programs that run no more: their room is their owners' again.
  package func settleUploads() throws {
    let instances = try database.read { reader in
      try reader.rows(
        "SELECT DISTINCT instance_id FROM sync.reservations WHERE instance_id IS NOT NULL"
      ) { row in try row.id(0) }
    }
    for instance in instances where !objects.isRunning(instance) {
      var cutOff: [Identifier] = []
      repeat {
        cutOff = try database.write(for: nil) { transaction in
          let uploads = try transaction.rows(
            """
            SELECT object_id FROM sync.reservations WHERE instance_id = $1
            ORDER BY owner_id LIMIT $2
            """, .id(instance), .integer(Self.sliceCountMax)
          ) { row in try row.id(0) }
          for id in uploads { try Reservations.release(transaction, id) }
          return uploads
        }
        for id in cutOff { try objects.deleteLeftover(id) }
      } while !cutOff.isEmpty && !isStopping.withLock { $0 }
    }
    try objects.forgetInstances()
  }

  /// One pass; returns when nothing that is due is left.
  package func sweep() throws {
    let now = clock.now()
    try settleUploads()
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
    let horizon = now - limits.deletionHorizon - Pruning.margin
    try inSlices { transaction in try Pruning.files(transaction, before: horizon) }
    try inSlices { transaction in try Pruning.departures(transaction, before: horizon) }
    try collect(now)
    // By the machine's clock, as the file system's is.
    for id in try objects.leftovers(before: Clock.system.now() - Reservations.lifetime) {
      try objects.deleteLeftover(id)
    }
  }

  private func inSlices(_ slice: @escaping @Sendable (Transaction) throws -> Int) throws {
    var count = Self.sliceCountMax
    while count == Self.sliceCountMax, !isStopping.withLock({ $0 }) {
      count = Int64(try database.write(for: nil, slice))
    }
  }

  private static func expireReservations(_ transaction: Transaction, _ now: Instant) throws -> Int {
    let expired = try transaction.rows(
      """
      SELECT object_id FROM sync.reservations WHERE expires_ms <= $1 ORDER BY owner_id LIMIT $2
      """, .instant(now), .integer(sliceCountMax)
    ) { row in try row.id(0) }
    for id in expired { try Reservations.release(transaction, id) }
    return expired.count
  }

  /// Deletes what accounts keep that keep much, without waiting for minutes.
  package func sweepCrowds() throws {
    let now = clock.now()
    try collect(
      """
      SELECT g.object_id FROM sync.accounts AS a JOIN sync.garbage AS g ON g.owner_id = a.id
      WHERE a.kept_bytes > 0 AND a.kept_bytes > \(Allowance.crowdedByteCount)
        AND g.since_ms <= $1 LIMIT $2
      """, since: now - Self.crowdedGarbageAge)
  }

  private func collect(_ now: Instant) throws {
    try collect(
      "SELECT object_id FROM sync.garbage WHERE since_ms <= $1 ORDER BY since_ms LIMIT $2",
      since: now - Self.garbageAge)
  }

  /// Deletes objects first and their rows after, so that a crash between repeats the deletion.
  private func collect(_ query: String, since: Instant) throws {
    while !isStopping.withLock({ $0 }) {
      let due = try database.read { reader in
        try reader.rows(query, .instant(since), .integer(Self.sliceCountMax)) { row in
          try row.id(0)
        }
      }
      // After the reading, so that a backup which begins later finds none of them in use.
      guard !due.isEmpty, try !objects.isHeld() else { return }
      for id in due {
        try objects.delete(id)
        try objects.deleteLeftover(id)
      }
      try database.write(for: nil) { transaction in try Self.forget(due, transaction) }
    }
  }

  private static func forget(_ objects: [Identifier], _ transaction: Transaction) throws {
    var freed: [Identifier: Int64] = [:]
    for id in objects {
      let found = try transaction.first(
        "DELETE FROM sync.garbage WHERE object_id = $1 RETURNING owner_id, bytes", .id(id)
      ) { row in (owner: try row.optionalID(0), byteCount: try row.integer(1)) }
      if let found, let owner = found.owner { freed[owner, default: 0] += found.byteCount }
    }
    for (owner, byteCount) in freed.sorted(by: { $0.key < $1.key }) {
      try Garbage.keep(transaction, -byteCount, of: owner)
    }
  }
}
