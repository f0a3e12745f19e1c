package import Accounts
import Base
import Storage
import Tiers

/// Clears away what file trees leave behind: below deleted folders, of versions and trash, and in updates.
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
    let jobs = try queues.slice(.deletions) { transaction in
      try DeletionJob.longestWaiting(transaction, now: now)
    } named: { job in
      (job.folder, job.owner)
    } work: { transaction, jobs in
      try Deletions.sweep(transaction, jobs, metadataFeeByteCount: fee, now: now, count: count)
    } postpone: { transaction, job, due in
      try job.postpone(transaction, until: due)
    }
    return !jobs.isEmpty
  }

  private func dropVersions() throws -> Bool {
    let (now, catalogue) = (queues.clock.now(), catalogue)
    return try queues.takeNext(
      .versions, of: "accounts", by: "id", at: "history_due_ms", now: now
    ) { transaction, account in
      try VersionUpkeep.sweep(transaction, account, catalogue: catalogue, now: now)
    }
  }

  private func workOnTrash() throws -> Bool {
    let (now, fee) = (queues.clock.now(), catalogue.metadataFeeByteCount)
    return try queues.takeNext(.trash) { transaction in
      try TrashJob.next(transaction, now: now)
    } named: { job in
      (job.entry.root, job.entry.owner)
    } work: { transaction, job in
      try job.work(transaction, fee: fee, now: now)
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
    let files = try queues.slice(.pruning) { transaction in
      try Pruning.dueFiles(transaction, before: horizon, now: now)
    } named: { file in
      (file, nil)
    } work: { transaction, files in
      try Pruning.files(transaction, files, before: horizon)
    }
    return files.count == Sweeper.sliceCountMax
  }

  /// Forgets one slice of what left accounts' sight.
  private func pruneDepartures() throws -> Bool {
    let horizon = horizon
    return try queues.database.write(for: nil) { transaction in
      try transaction.expireSlice(
        of: "departures", by: "account_id, owner_id, file_id", at: "at_ms",
        count: Sweeper.sliceCountMax, now: horizon)
    } == Sweeper.sliceCountMax
  }
}
