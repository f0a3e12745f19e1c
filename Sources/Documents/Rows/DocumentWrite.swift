import Accounts
import Base
import Requests
import Storage
import Tiers

extension News.Topic {
  /// Documents of versions: what a pull sends.
  static let documents = News.Topic("documents")
}

/// Stores what a batch was judged to do, and charges it in the same transaction. The account's row must be locked.
struct DocumentWrite {
  let host: ProtocolHost
  let transaction: Transaction
  let account: Identifier
  let now: Instant

  /// The most replaced versions of a document that a write deletes because the plan keeps no more.
  private static let surplusCountMax = 8

  func write(_ plan: PushPlan, _ owners: inout LockedOwners) throws {
    guard let first = plan.fresh.first?.version else { return }
    let limits =
      host.catalogue.limitsMore
      ? try Cap(transaction, account, catalogue: host.catalogue, now: now).limits(host.catalogue)
      : Plan.Limits()
    let span = try keptSpan(plan, limits, owners.require(account))
    var totals = try DocumentTotals(transaction, of: account)
    let number = try owners.change(account) {
      $0.takeSequences(plan.fresh.count, for: .documents)
    }
    try store(plan, after: number, keeping: span != nil)
    try DocumentDevice.advance(transaction, first.author, of: account, to: plan.highest)
    let change = plan.change(keeping: span != nil)
    let byteCount = try change.byteCount - (span == nil ? 0 : deletedSurplus(plan, limits))
    totals.number = number + Int64(plan.fresh.count)
    totals.recordCount += change.recordCount
    totals.byteCount += byteCount
    if let span, plan.replaces { totals.look(at: now + min(span, DocumentPurge.pauseMax)) }
    if plan.fresh.contains(where: { $0.version.isDeletion && $0.isCurrent }) {
      totals.look(at: now + host.limits.deletionHorizon)
    }
    try totals.save(transaction, of: account)
    try owners.change(account) { owner in
      owner.charge(
        change.recordCount * host.catalogue.metadataFeeByteCount + byteCount,
        records: change.recordCount, reason: .documentsPushed, file: first.document,
        sequence: number + 1)
    }
    try owners.save(transaction, now: now)
  }

  /// For how long what is replaced is kept; nil if it is not: the plan keeps no history, or there is no room.
  private func keptSpan(
    _ plan: PushPlan, _ limits: Plan.Limits, _ owner: LockedOwner
  ) throws -> Instant.Span? {
    func lack(keeping keeps: Bool) throws -> AccountRefusal? {
      let change = plan.change(keeping: keeps)
      let delta = change.recordCount * host.catalogue.metadataFeeByteCount + change.byteCount
      return try owner.lack(
        of: delta, growingBy: delta, reserved: 0, askedBy: account, transaction,
        catalogue: host.catalogue, now: now)
    }
    if let span = limits.historySpan, try lack(keeping: true) == nil { return span }
    if let lack = try lack(keeping: false) { throw lack }
    return nil
  }

  private func store(_ plan: PushPlan, after number: Int64, keeping keeps: Bool) throws {
    let rows = VersionRows(transaction, of: account)
    let numbers = plan.replaced.map(\.number)
    if keeps { try rows.keep(numbers, now: now) } else { try rows.delete(numbers) }
    try rows.insert(
      zip(keeps ? plan.fresh : plan.fresh.filter(\.isCurrent), (number + 1)...).map {
        StoredVersion(
          $0.version, number: $1, stored: now, replaced: $0.isCurrent ? nil : now)
      })
  }

  /// Deletes the replaced versions that are more than the plan keeps of a document. A former plan may keep more of those
  /// that are older than its end. Returns their charge.
  private func deletedSurplus(_ plan: PushPlan, _ limits: Plan.Limits) throws -> Int64 {
    guard let countMax = limits.historyVersionCount, plan.replaces else { return 0 }
    let rows = VersionRows(transaction, of: account)
    var retention: Retention?
    var surplus: [LeavingVersion] = []
    for document in Set(plan.fresh.map(\.version.document)) {
      let candidates = try rows.replaced(
        of: document, without: countMax, limit: Self.surplusCountMax)
      guard !candidates.isEmpty else { continue }
      let kept =
        try retention ?? Retention(transaction, account, catalogue: host.catalogue, now: now)
      retention = kept
      surplus += candidates.enumerated().filter { index, version in
        let max = kept.versionCountMax(replaced: version.moment, at: now) ?? .max
        return countMax + Int64(index) >= max
      }.map(\.element)
    }
    try rows.delete(surplus.map(\.number))
    return surplus.reduce(0) { $0 + $1.byteCount }
  }
}
