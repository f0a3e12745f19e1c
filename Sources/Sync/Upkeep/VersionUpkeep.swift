import Accounts
import Base
import Storage
import Tiers

/// Deletes versions and trash that an owner's plan keeps no longer, or that make room. Each account is looked at when
/// its oldest is due, and once a day, because its plan may have changed.
enum VersionUpkeep {
  /// Deletes one slice of an account's versions, and plans when to look again.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, catalogue: Catalogue, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    guard owners.accounts.contains(account) else { return }
    let owner = try owners.require(account)
    let cap = try Cap(transaction, account, catalogue: catalogue, now: now).byteCount
    let retention = try Retention(transaction, account, catalogue: catalogue, now: now)
    var excess = owner.purgesHistory ? owner.usageByteCount - cap : 0
    var versions = Due<KeptVersion>(limit: Versions.sliceCountMax)
    for era in retention.eras {
      let oldest = try Versions.oldest(
        transaction, of: account, replacedIn: era, limit: versions.limit)
      versions.take(oldest, excess: &excess, at: now, ends: { $0.end(under: retention) }) {
        $0.byteCount
      }
    }
    try Versions.drop(transaction, versions.leaving, of: account, now: now)
    let isDone = versions.leaving.count < versions.limit
    let trash = try isDone ? purgeTrash(transaction, account, excess, retention, now: now) : nil
    try owners.change(account) { owner in
      if let file = versions.leaving.first?.file {
        let byteCount = versions.leaving.byteCount
        owner.charge(
          -byteCount, history: -byteCount, reason: .versionsDropped, file: file,
          sequence: owner.nextSequence(quietly: true))
      }
      for (file, versions) in Dictionary(grouping: versions.leaving, by: \.file) {
        try FolderCap.post(-versions.byteCount, above: file, of: owner, transaction)
      }
      let ends = [versions.next, trash].compactMap(\.self)
      owner.lookForKept(next: isDone ? ends.min().map { min($0, now + Versions.pauseMax) } : now)
    }
    try owners.save(transaction, now: now)
  }

  /// Purges trash that is due, and the oldest as long as there is an excess; `TrashJob` does the rest. Returns when
  /// the next is due.
  private static func purgeTrash(
    _ transaction: Transaction, _ account: Identifier, _ excess: Int64, _ retention: Retention,
    now: Instant
  ) throws -> Instant? {
    var excess = excess - (try Trash.purgingByteCount(transaction, of: account))
    var trash = Due<Trash>(limit: Versions.sliceCountMax)
    for era in retention.eras {
      let oldest = try Trash.oldest(transaction, of: account, deletedIn: era, limit: trash.limit)
      trash.take(oldest, excess: &excess, at: now, ends: { $0.end(under: retention) }) {
        $0.byteCount
      }
    }
    for entry in trash.leaving { try entry.become(.purging, transaction) }
    return trash.leaving.count < trash.limit ? trash.next : now
  }

  /// What leaves in this slice, and when the first of the rest is due.
  private struct Due<Kept> {
    let limit: Int
    private(set) var leaving: [Kept] = []
    private(set) var next: Instant?

    init(limit: Int) { self.limit = limit }

    /// Takes from one era, the oldest first: what is due, and what is needed to reduce the excess.
    mutating func take(
      _ oldest: [Kept], excess: inout Int64, at now: Instant, ends: (Kept) -> Instant,
      byteCount: (Kept) -> Int64
    ) {
      for kept in oldest.prefix(limit - leaving.count) {
        let end = ends(kept)
        guard excess > 0 || end <= now else {
          next = min(next ?? end, end)
          return
        }
        leaving.append(kept)
        excess -= byteCount(kept)
      }
    }
  }
}
