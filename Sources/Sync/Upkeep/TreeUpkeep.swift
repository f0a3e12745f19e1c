package import Accounts
internal import Base
internal import Storage
internal import Tiers

/// Clears away what file trees leave behind: everything below deleted folders, and changes too old for any
/// client's cursor.
package struct TreeUpkeep: Sendable {
  private let queues: QueueWork
  private let fee: Int64
  private let limits: SyncLimits

  package init(_ host: ProtocolHost) {
    queues = QueueWork(host.database, clock: host.clock)
    fee = host.catalogue.metadataFeeByteCount
    limits = host.limits
  }

  var upkeep: [Upkeep] {
    [
      Upkeep("deletions", isUrgent: true) { try markDeleted() },
      Upkeep("pruning", isUrgent: false) { try pruneFiles() },
      Upkeep("departures", isUrgent: false) { try pruneDepartures() },
    ]
  }

  /// Marks one slice of at most `count` files below deleted folders. Returns false if nothing waits.
  package func markDeleted(count: Int = Deletions.sliceCountMax) throws -> Bool {
    let (now, fee) = (queues.clock.now(), fee)
    let taken = Locked<[DeletionJob]>([])
    do {
      return try queues.database.write(for: nil) { transaction in
        let jobs = try DeletionJob.longestWaiting(transaction, now: now)
        taken.withLock { $0 = jobs }
        return try Deletions.sweep(
          transaction, jobs, metadataFeeByteCount: fee, now: now, count: count)
      }
    } catch  where !error.isOfDatabase {
      for job in taken.withLock({ $0 }) {
        try queues.alone(.deletions, job.folder, of: job.owner) { transaction in
          _ = try Deletions.sweep(
            transaction, [job], metadataFeeByteCount: fee, now: now, count: count)
        } postpone: { transaction, due in
          try job.postpone(transaction, until: due)
        }
      }
      return true
    }
  }

  /// The changes before it were sent to every client whose cursor is still accepted.
  private var horizon: Instant { queues.clock.now() - limits.deletionHorizon - Pruning.margin }

  private func pruneFiles() throws -> Bool {
    let (now, horizon) = (queues.clock.now(), horizon)
    let taken = Locked<[Identifier]>([])
    do {
      try queues.database.write(for: nil) { transaction in
        let due = try Pruning.dueFiles(transaction, before: horizon, now: now)
        taken.withLock { $0 = due }
        try Pruning.files(transaction, due, before: horizon)
        try FailingItems.settle(.pruning, due, in: transaction)
      }
    } catch  where !error.isOfDatabase {
      for file in taken.withLock({ $0 }) {
        try queues.alone(.pruning, file, of: nil) { transaction in
          try Pruning.files(transaction, [file], before: horizon)
        }
      }
    }
    return taken.withLock { $0.count } == Sweeper.sliceCountMax
  }

  private func pruneDepartures() throws -> Bool {
    let horizon = horizon
    return try queues.database.write(for: nil) { transaction in
      try Pruning.departures(transaction, before: horizon)
    } == Sweeper.sliceCountMax
  }
}
