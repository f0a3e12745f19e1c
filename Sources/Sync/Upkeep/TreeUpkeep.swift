package import Accounts
import Base
import Storage
import Tiers

/// Clears away what file trees leave behind: everything below deleted folders, versions and trash that are no longer kept,
/// and changes too old for any client's cursor.
package struct TreeUpkeep: Sendable {
  private let queues: QueueWork
  private let catalogue: Catalogue
  private let limits: SyncLimits

  package init(_ host: ProtocolHost) {
    queues = QueueWork(host.database, clock: host.clock)
    catalogue = host.catalogue
    limits = host.limits
  }

  var upkeep: [Upkeep] {
    [
      Upkeep("deletions", isUrgent: true) { try markDeleted() },
      Upkeep("versions", isUrgent: true) { try dropVersions() },
      Upkeep("trash", isUrgent: true) { try workOnTrash() },
      Upkeep("folders", isUrgent: true) { try countFolder() },
      Upkeep("pruning", isUrgent: false) { try pruneFiles() },
      Upkeep("departures", isUrgent: false) { try pruneDepartures() },
    ]
  }

  /// Marks one slice of at most `count` files below deleted folders. Returns false if nothing waits.
  package func markDeleted(count: Int = Deletions.sliceCountMax) throws -> Bool {
    let (now, fee) = (queues.clock.now(), catalogue.metadataFeeByteCount)
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

  private func dropVersions() throws -> Bool {
    let (now, catalogue) = (queues.clock.now(), catalogue)
    return try queues.takeNext(.versions) { transaction in
      try VersionUpkeep.next(transaction, now: now)
    } work: { transaction, account in
      try VersionUpkeep.sweep(transaction, account, catalogue: catalogue, now: now)
    }
  }

  private func workOnTrash() throws -> Bool {
    let (now, fee) = (queues.clock.now(), catalogue.metadataFeeByteCount)
    let taken = Locked<Trash?>(nil)
    do {
      return try queues.database.write(for: nil) { transaction in
        guard let job = try TrashJob.next(transaction, now: now) else { return false }
        taken.withLock { $0 = job.entry }
        try job.work(transaction, fee: fee, now: now)
        try FailingItems.settle(.trash, [job.entry.root], in: transaction)
        return true
      }
    } catch  where !error.isOfDatabase {
      guard let entry = taken.withLock({ $0 }) else { throw error }
      try queues.fail(.trash, entry.root, of: entry.owner, error)
      return true
    }
  }

  /// Counts one folder. Returns false if none is due.
  package func countFolder() throws -> Bool {
    let (database, now, fee) = (queues.database, queues.clock.now(), catalogue.metadataFeeByteCount)
    guard let (folder, owner) = try database.read({ try FolderCount.next($0, now: now) }) else {
      return false
    }
    do {
      let count = try database.read { try FolderCount($0, folder, fee: fee) }
      try database.write(for: nil) { transaction in
        try count?.post(transaction)
        try FailingItems.settle(.folders, [folder], in: transaction)
      }
    } catch  where !error.isOfDatabase {
      try queues.fail(.folders, folder, of: owner, error)
    }
    return true
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
