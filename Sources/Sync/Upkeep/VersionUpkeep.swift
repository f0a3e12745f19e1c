internal import Accounts
internal import Base
internal import Storage
internal import Tiers

/// Deletes the versions and the trash that an owner's plan keeps no longer, or that make room for newer content.
///
/// Each account with any is looked at when its oldest is due, and at least once a day, because its plan may
/// have changed.
enum VersionUpkeep {
  private static let isDue = FailingItems.isDue(.versions, "accounts.id", at: "$1")

  /// The account to look at first; nil if none is due.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    try transaction.first(
      """
      SELECT id FROM sync.accounts WHERE history_due_ms IS NOT NULL AND history_due_ms <= $1
        AND \(isDue)
      ORDER BY history_due_ms, id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  /// Deletes one slice of an account's versions, and plans when to look again.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, catalogue: Catalogue, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    guard owners.accounts.contains(account) else { return }
    let owner = try owners.require(account)
    let cap = try Cap(transaction, account, catalogue: catalogue, now: now)
    let plan = cap.limits(catalogue)
    let oldest = try Versions.oldest(transaction, of: account, limit: Versions.sliceCountMax)
    var excess = owner.purgesHistory ? owner.usageByteCount - cap.byteCount : 0
    let leaving = Array(
      oldest.prefix { version in
        defer { excess -= version.byteCount }
        return excess > 0 || version.end(under: plan) <= now
      })
    try Versions.drop(transaction, leaving, of: account, now: now)
    let isDone = leaving.count < Versions.sliceCountMax
    let version = leaving.count < oldest.count ? oldest[leaving.count] : nil
    let trash = try isDone ? purgeTrash(transaction, account, excess, plan, now: now) : nil
    try owners.change(account) { owner in
      if let file = leaving.first?.file {
        owner.charge(
          -leaving.byteCount, history: -leaving.byteCount, reason: .versionsDropped, file: file,
          sequence: owner.nextSequence())
      }
      let ends = [version?.end(under: plan), trash].compactMap(\.self)
      owner.lookForKept(next: isDone ? ends.min().map { min($0, now + Versions.pauseMax) } : now)
    }
    try owners.save(transaction, now: now)
  }

  /// Purges an account's trash that is due, and the oldest beyond it as long as there is an excess. `TrashJob` does the
  /// rest. Returns when the next is due; nil if there is none.
  private static func purgeTrash(
    _ transaction: Transaction, _ account: Identifier, _ excess: Int64, _ plan: Plan.Limits,
    now: Instant
  ) throws -> Instant? {
    var excess = excess - (try Trash.purgingByteCount(transaction, of: account))
    let oldest = try Trash.oldest(transaction, of: account, limit: Versions.sliceCountMax)
    for entry in oldest {
      let end = entry.end(under: plan)
      guard excess > 0 || end <= now else { return end }
      try entry.become(.purging, transaction)
      excess -= entry.byteCount
    }
    return oldest.count < Versions.sliceCountMax ? nil : now
  }
}

extension FailingItems.Queue {
  /// Accounts with versions to delete.
  static let versions = Self("versions")
}
