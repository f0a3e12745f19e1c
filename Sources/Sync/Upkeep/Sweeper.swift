package import Accounts
import Base
import Objects
import Storage

/// Removes what has expired, what uploads left behind, accounts that are due, and what each protocol has to clear
/// away. It works in slices, each a write of its own, so that a backlog delays no request for longer.
package final class Sweeper: Sendable {
  static let sliceCountMax: Int64 = 500
  /// `Garbage.age` for an account that keeps much. A download opens the object right after reading its row.
  private static let crowdedGarbageAge = Instant.Span.seconds(5)

  /// One part of 256 each time, so that the whole store is looked at once a day.
  private static let orphanSeconds: Int64 = 86_400 / 256

  private static let isReservationDue = FailingItems.isDue(
    .reservations, "reservations.object_id", at: "$1")

  private let database: Database
  private let objects: any ObjectStore
  private let limits: SyncLimits
  private let clock: Clock
  private let queues: QueueWork
  private let protocols: [any ProtocolRoom]
  private let upkeep: [Upkeep]
  private let isStopping = Locked(false)
  /// Where in the store orphans are looked for next. Instances and starts begin at different places.
  private let nextByte = Locked(UInt8.random(in: .min ... .max))
  private let periods = Locked<[Periodic]>([])

  package init(_ host: ProtocolHost, _ protocols: [any ProtocolRoom], upkeep: [Upkeep]) {
    database = host.database
    objects = host.objects
    limits = host.limits
    clock = host.clock
    queues = QueueWork(host.database, clock: host.clock)
    self.protocols = protocols
    self.upkeep = upkeep
  }

  /// Sweeps at the given interval. What users wait for, and what frees space, is looked for more often.
  package func start(every seconds: Int64) {
    let started =
      [
        Periodic("sweep", every: seconds) { [self] in try sweep() },
        Periodic("crowds", every: 1) { [self] in try sweepCrowds() },
        Periodic("erasures", every: 5) { [self] in try sweepErasures() },
        Periodic("orphans", every: Self.orphanSeconds) { [self] in try sweepOrphans() },
      ]
      + upkeep.filter(\.isUrgent).map { work in
        Periodic(work.name, every: 1) { [self] in try untilDone(work.slice) }
      }
    periods.withLock { $0 = started }
  }

  /// Returns once the sweeps under way have ended their slices.
  package func stop() {
    isStopping.signal { $0 = true }
    for period in periods.withLock({ $0 }) { period.stop() }
  }

  /// Erases the accounts that are due. Returns when none is left.
  package func sweepErasures() throws {
    try inTurn([
      { [self] in try untilDone(sweepErasure) },
      { [self] in
        let horizon = clock.now() - limits.deletionHorizon - Pruning.margin
        try untilDone {
          let now = clock.now()
          return try queues.takeNext(.forgetting) { transaction in
            try AccountErasure.nextForgotten(transaction, before: horizon, now: now)
          } work: { [protocols] transaction, account in
            try AccountErasure.forget(transaction, account, of: protocols, before: horizon)
          }
        }
      },
    ])
  }

  /// Runs one slice of an erasure. Returns false if none is due.
  package func sweepErasure() throws -> Bool {
    let now = clock.now()
    return try queues.takeNext(.erasures) { transaction in
      try AccountErasure.next(transaction, now: now)
    } work: { [protocols] transaction, account in
      try AccountErasure.sweep(transaction, account, of: protocols, now: now)
    }
  }

  /// Runs every step even if an earlier one failed, then throws the first failure.
  private func inTurn(_ steps: [() throws -> Void]) throws {
    var first: (any Error)?
    for step in steps {
      do { try step() } catch { first = first ?? error }
    }
    if let first { throw first }
  }

  /// Runs slices until none is left. It pauses after each, so that it takes at most half of the writer's time.
  private func untilDone(_ slice: () throws -> Bool) throws {
    var isWaiting = true
    while isWaiting, !isStopping.withLock({ $0 }) {
      let start = MonotonicTime.now()
      isWaiting = try slice()
      let pause = Int64(MonotonicTime.now().seconds(since: start) * 1000)
      if isWaiting { _ = isStopping.wait(until: .now() + .milliseconds(pause)) { $0 ? true : nil } }
    }
  }

  /// Ends the uploads of processes that no longer run and frees the room reserved for them.
  package func settleUploads() throws {
    let instances = try database.read { reader in
      try reader.ids(
        "SELECT DISTINCT instance_id FROM sync.reservations WHERE instance_id IS NOT NULL")
    }
    for instance in instances where !objects.isRunning(instance) {
      var cutOff: [Identifier] = []
      repeat {
        cutOff = try releaseReservations("instance_id = $3", .id(instance))
        for id in cutOff { try deleteLeftover(id) }
      } while !cutOff.isEmpty && !isStopping.withLock { $0 }
    }
    try objects.forgetInstances()
  }

  /// Runs one pass. Returns when nothing that is due is left.
  package func sweep() throws {
    let now = clock.now()
    try inTurn(
      [
        { [self] in try settleUploads() },
        { [self] in try expire("nonces", by: "public_key, nonce", now) },
        { [self] in try expire("sessions", by: "token_hash", now) },
        { [self] in try expire("former_contents", by: "owner_id, place", now) },
        { [self] in
          try inSlices {
            try database.write(for: nil) { transaction in
              try FailingItems.forgetUntried(Self.sliceCountMax, at: now, in: transaction)
            }
          }
        },
        { [self] in
          try inSlices {
            try releaseReservations("expires_ms <= $3", .instant(now), expiredAt: now).count
          }
        },
        { [self] in try collect(now) },
        { [self] in
          // By the machine's clock, like the times of the file system.
          let left = try OrphanAudit(database, objects)
            .leftovers(before: Clock.system.now() - Reservations.lifetime)
          for id in left { try deleteLeftover(id) }
        },
      ] + upkeep.filter { !$0.isUrgent }.map { work in { [self] in try untilDone(work.slice) } })
  }

  private func deleteLeftover(_ id: Identifier) throws {
    let due = try database.read { try FailingItems.due(.leftovers, id, reading: $0) }
    if let due, due > clock.now() { return }
    do { try objects.deleteLeftover(id) } catch {
      return try queues.fail(.leftovers, id, of: nil, error)
    }
    guard due != nil else { return }
    try database.write(for: nil) { try FailingItems.settle(.leftovers, [id], in: $0) }
  }

  private func expire(_ table: String, by primaryKey: String, _ now: Instant) throws {
    try inSlices {
      try database.write(for: nil) { transaction in
        try transaction.expireSlice(
          of: table, by: primaryKey, at: "expires_ms", count: Self.sliceCountMax, now: now)
      }
    }
  }

  /// Repeats a slice of work until it finds fewer items than it takes.
  private func inSlices(_ slice: () throws -> Int) throws {
    var isWaiting = true
    while isWaiting, !isStopping.withLock({ $0 }) {
      isWaiting = try slice() == Self.sliceCountMax
    }
  }

  /// Releases a slice of reservations. Returns those that it found. One that expires after `moment` by then stays.
  private func releaseReservations(
    _ condition: String, _ value: SQLValue, expiredAt moment: Instant = .distantFuture
  ) throws -> [Identifier] {
    let now = clock.now()
    let taken = try database.read { reader in
      try reader.rows(
        """
        SELECT object_id, owner_id FROM sync.reservations
        WHERE \(condition) AND \(Self.isReservationDue)
        ORDER BY owner_id LIMIT $2
        """, .instant(now), .integer(Self.sliceCountMax), value
      ) { row in (object: try row.id(0), owner: try row.id(1)) }
    }
    try queues.slice(.reservations) { _ in
      taken
    } named: { upload in
      (upload.object, upload.owner)
    } work: { transaction, uploads in
      for upload in uploads {
        try Reservations.release(transaction, upload.object, expiredAt: moment)
      }
    }
    return taken.map(\.object)
  }

  /// Deletes the unused objects of accounts that keep much, without waiting for minutes.
  package func sweepCrowds() throws {
    try collect(
      """
      SELECT g.object_id, g.owner_id FROM sync.accounts AS a
        JOIN sync.garbage AS g ON g.owner_id = a.id
      WHERE a.kept_bytes > 0 AND a.kept_bytes > \(Allowance.crowdedByteCount)
        AND g.since_ms <= $1 LIMIT $2
      """, at: clock.now(), age: Self.crowdedGarbageAge)
  }

  private func collect(_ now: Instant) throws {
    try collect(
      """
      SELECT object_id, owner_id FROM sync.garbage WHERE since_ms <= $1 ORDER BY since_ms LIMIT $2
      """, at: now, age: Garbage.age)
  }

  /// Deletes the objects of one part of the store that no row names. Not on the first day after the store was
  /// assigned to this database: a restored backup may lack rows that are needed again if it was a mistake.
  package func sweepOrphans() throws {
    let now = Clock.system.now()  // times of objects are the machine's
    guard let owner = try objects.owner(), owner.since < now - OrphanAudit.grace else { return }
    let byte = nextByte.withLock { byte in
      defer { byte &+= 1 }
      return byte
    }
    let deleted = try OrphanAudit(database, objects)
      .orphans(beginningWith: byte, at: now, deletes: true) { object, error in
        try queues.fail(.orphans, object, of: nil, error)
      }.deleted
    if deleted.count > 0 {
      Log.warning(
        "objects.orphans",
        ["deleted": "\(deleted.count)", "bytes": "\(deleted.byteCount)"])
    }
    try settleOrphans(beginningWith: byte)
  }

  /// Forgets the objects of one part that could not be deleted and are gone now, whoever deleted them.
  private func settleOrphans(beginningWith byte: UInt8) throws {
    let noted = try database.read {
      try FailingItems.items(of: .orphans, beginningWith: byte, reading: $0)
    }
    guard !noted.isEmpty else { return }
    let there = Set(try objects.list(beginningWith: byte).map(\.key))
    let gone = noted.filter { !there.contains($0) }
    guard !gone.isEmpty else { return }
    try database.write(for: nil) { try FailingItems.settle(.orphans, gone, in: $0) }
  }

  /// Deletes objects first and then their rows, so that a crash repeats it. What cannot be deleted waits for longer.
  private func collect(_ query: String, at now: Instant, age: Instant.Span) throws {
    while !isStopping.withLock({ $0 }) {
      let due = try database.read { reader in
        try reader.rows(query, .instant(now - age), .integer(Self.sliceCountMax)) { row in
          (object: try row.id(0), owner: try row.optionalID(1))
        }
      }
      // After the reading, so that a backup that begins later refers to none of them.
      guard !due.isEmpty, try !objects.isHeld() else { return }
      // Once for all, because a bucket is asked by listing it. If that fails, the store fails, not one of them.
      let unfinished = Set(try objects.leftovers(before: .distantFuture))
      var deleted: [(object: Identifier, owner: Identifier?)] = []
      for one in due {
        do {
          // In this order: an upload that is published in between is deleted by the second.
          if unfinished.contains(one.object) { try objects.deleteLeftover(one.object) }
          try objects.delete(one.object)
          deleted.append(one)
        } catch {
          try queues.fail(.garbage, one.object, of: one.owner, error) { transaction, again in
            try Self.postpone(one.object, until: again - age, transaction)
          }
        }
      }
      let gone = deleted
      try queues.slice(.garbage) { _ in
        gone
      } named: { one in
        (one.object, one.owner)
      } work: { transaction, slice in
        try Self.forget(slice.map(\.object), transaction)
      } postpone: { transaction, one, again in
        try Self.postpone(one.object, until: again - age, transaction)
      }
    }
  }

  private static func postpone(
    _ object: Identifier, until since: Instant, _ transaction: Transaction
  ) throws {
    try transaction.execute(
      "UPDATE sync.garbage SET since_ms = $2 WHERE object_id = $1", .id(object), .instant(since))
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

extension FailingItems.Queue {
  static let erasures = Self("erasures")
  /// Erased accounts of which nothing needs to be known any more.
  static let forgetting = Self("forgetting")
  /// Deleted files that every client has seen.
  static let pruning = Self("pruning")
  static let versions = Self("versions")
  static let folders = Self("folders")
  fileprivate static let garbage = Self("garbage")
  /// Reservations of uploads that ended, by object.
  fileprivate static let reservations = Self("reservations")
  /// Files of uploads that a crash interrupted, by object.
  fileprivate static let leftovers = Self("leftovers")
  /// Objects without any row. Each is looked for once a day.
  fileprivate static let orphans = Self("orphans")
}
