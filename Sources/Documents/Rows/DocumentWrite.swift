import Accounts
import Base
import Requests
import Storage
import Tiers

extension News.Topic {
  /// Documents of versions: what a pull sends.
  static let documents = News.Topic("documents")
}

/// Stores and charges what a batch was judged to do. The rows of all accounts that it concerns must be locked.
struct DocumentWrite {
  let host: ProtocolHost
  let transaction: Transaction
  let account: Identifier
  let now: Instant

  /// The most replaced versions of a document that a write deletes because the plan keeps no more, besides as many as it
  /// replaces.
  private static let surplusCountMax = 8

  /// What changes of an account's totals.
  private struct Change {
    /// The first number that the write takes, and the last.
    let numbers: ClosedRange<Int64>
    let document: Identifier
    var recordCount: Int64
    var byteCount: Int64
    /// What becomes history of it, less what ends.
    var historyByteCount: Int64 = 0
    /// When to look for rows to delete; nil if there are none.
    var due: Instant?

    mutating func look(at moment: Instant) { due = min(due ?? moment, moment) }
  }

  func write(_ plan: PushPlan, _ owners: inout LockedOwners) throws {
    guard let first = plan.fresh.first?.version else { return }
    let limits = try limits(of: account)
    let span = try keptSpan(plan, limits, owners.require(account))
    var released: [ReleasedText] = []
    let number = try owners.change(account) {
      $0.takeSequences(plan.fresh.count, for: .documents)
    }
    try DocumentTexts(transaction).insert(plan.texts(keeping: span != nil), of: account)
    try store(plan, after: number, keeping: span != nil, &released)
    try DocumentDevice.advance(transaction, first.author, of: account, to: plan.highest)
    let added = plan.change(keeping: span != nil)
    var own = Change(
      numbers: number + 1...number + Int64(plan.fresh.count), document: first.document,
      recordCount: added.recordCount, byteCount: added.byteCount)
    if span != nil, plan.replaces {
      own.historyByteCount =
        try DocumentTexts(transaction).charge(of: plan.replaced) + plan.pastByteCount
      try deleteSurplus(
        of: plan.replacedCounts, in: account, limits, from: &own, &released)
    }
    if let span, plan.replaces { own.look(at: now + min(span, DocumentPurge.pauseMax)) }
    if plan.fresh.contains(where: { $0.version.isDeletion && $0.isCurrent }) {
      own.look(at: now + host.limits.deletionHorizon)
    }
    var changes = [account: own]
    for delivery in plan.deliveries.all {
      changes[delivery.receiver] = try deliver(delivery, of: plan, &owners, &released)
    }
    try DocumentBlob.markNamed(
      Set(plan.fresh.flatMap(\.version.blobs)), of: account, transaction)
    let freed = try DocumentTexts(transaction).release(released, holding: Set(changes.keys))
    for (owner, byteCount) in freed { changes[owner]?.byteCount -= byteCount }
    if span == nil, let change = changes[account],
      let lack = try lack(
        of: change.recordCount, change.byteCount - plan.roomlessByteCount, owners.require(account))
    {
      throw lack
    }
    for (holder, change) in changes { try charge(change, to: holder, &owners) }
    try owners.save(transaction, now: now)
  }

  private func limits(of account: Identifier) throws -> Plan.Limits {
    host.catalogue.limitsMore
      ? try Cap(transaction, account, catalogue: host.catalogue, now: now).limits(host.catalogue)
      : Plan.Limits()
  }

  /// For how long what is replaced is kept; nil if it is not: the plan keeps no history, or there is no room.
  private func keptSpan(
    _ plan: PushPlan, _ limits: Plan.Limits, _ owner: LockedOwner
  ) throws -> Instant.Span? {
    guard let span = limits.historySpan else { return nil }
    // A deletion that found no room for what it replaces makes room.
    let change = plan.change(keeping: true)
    return try lack(of: change.recordCount, change.byteCount - plan.removalByteCount, owner) == nil
      ? span : nil
  }

  private func lack(
    of recordCount: Int64, _ byteCount: Int64, _ owner: LockedOwner
  ) throws -> AccountRefusal? {
    let delta = recordCount * host.catalogue.metadataFeeByteCount + byteCount
    return try owner.lack(
      of: delta, growingBy: delta, reserved: 0, askedBy: account, transaction,
      catalogue: host.catalogue, now: now)
  }

  private func store(
    _ plan: PushPlan, after number: Int64, keeping keeps: Bool, _ released: inout [ReleasedText]
  ) throws {
    try replace(plan.replaced, in: account, keeping: keeps, &released)
    try VersionRows(transaction, of: account).insert(
      zip(plan.stored(keeping: keeps), (number + 1)...).map { fresh, number in
        StoredVersion(
          version: fresh.version, number: number, stored: now,
          replaced: fresh.isCurrent ? nil : now, text: fresh.text)
      })
  }

  private func replace(
    _ replaced: [CurrentVersion], in holder: Identifier, keeping keeps: Bool,
    _ released: inout [ReleasedText]
  ) throws {
    let rows = VersionRows(transaction, of: holder)
    let numbers = replaced.map(\.number)
    guard !keeps else { return try rows.keep(numbers, now: now) }
    try rows.delete(numbers)
    released += replaced.compactMap { ReleasedText($0.text, writer: $0.writer, holder: holder) }
  }

  /// Stores what another account gets. It pays the fee of its records, and nothing of their contents.
  private func deliver(
    _ delivery: Delivery, of plan: PushPlan, _ owners: inout LockedOwners,
    _ released: inout [ReleasedText]
  ) throws -> Change {
    let receiver = delivery.receiver
    let limits = try limits(of: receiver)
    let versions = delivery.versions.values.sorted { $0.counter < $1.counter }
    let number = try owners.change(receiver) {
      $0.takeSequences(versions.count, for: .documents)
    }
    try replace(
      delivery.replaced, in: receiver, keeping: limits.historySpan != nil, &released)
    let texts = Dictionary(
      uniqueKeysWithValues: plan.fresh.map { ($0.version.counter, $0.text) })
    try VersionRows(transaction, of: receiver).insert(
      zip(versions, (number + 1)...).map { version, number in
        StoredVersion(
          version: version, number: number, stored: now, replaced: nil, writer: account,
          text: texts[version.counter] ?? nil)
      })
    if let last = versions.last {
      if delivery.isFirst {
        try DocumentDevice.makeRoom(in: receiver, for: account, transaction)
      }
      try DocumentDevice.advance(
        transaction, last.author, of: receiver, to: last.counter, writer: account)
    }
    var change = Change(
      numbers: number + 1...number + Int64(versions.count), document: versions[0].document,
      recordCount: Int64(versions.count - delivery.replaced.count), byteCount: 0)
    try owners.require(receiver).requireRoom(
      for: delivery.roomRecordCount * host.catalogue.metadataFeeByteCount, askedBy: account,
      transaction, catalogue: host.catalogue, now: now)
    if let span = limits.historySpan, !delivery.replaced.isEmpty {
      try deleteSurplus(
        of: delivery.replacedCounts, in: receiver, limits, from: &change, &released)
      change.look(at: now + min(span, DocumentPurge.pauseMax))
    }
    if versions.contains(where: \.isRemoval) {
      change.look(at: now + host.limits.deletionHorizon)
    }
    return change
  }

  /// Deletes the replaced versions that are more than the plan keeps of a document, of which a write has just replaced
  /// some. A former plan may keep more of those that are older than its end. Their charge is taken from a change.
  private func deleteSurplus(
    of replacedCounts: [Identifier: Int], in holder: Identifier, _ limits: Plan.Limits,
    from change: inout Change, _ released: inout [ReleasedText]
  ) throws {
    guard let countMax = limits.historyVersionCount else { return }
    let rows = VersionRows(transaction, of: holder)
    var retention: Retention?
    var surplus: [LeavingVersion] = []
    for (document, count) in replacedCounts {
      let candidates = try rows.replaced(
        of: document, without: countMax, limit: count + Self.surplusCountMax)
      guard !candidates.isEmpty else { continue }
      let kept =
        try retention ?? Retention(transaction, holder, catalogue: host.catalogue, now: now)
      retention = kept
      surplus += candidates.enumerated().filter { index, version in
        let max = kept.versionCountMax(replaced: version.moment, at: now) ?? .max
        return countMax + Int64(index) >= max
      }.map(\.element)
    }
    try rows.delete(surplus.map(\.number))
    released += surplus.compactMap { ReleasedText($0.text, writer: $0.writer, holder: holder) }
    change.byteCount -= surplus.reduce(0) { $0 + $1.byteCount }
    change.historyByteCount -= try DocumentTexts(transaction).charge(of: surplus)
  }

  private func charge(
    _ change: Change, to holder: Identifier, _ owners: inout LockedOwners
  ) throws {
    var totals = try DocumentTotals(transaction, of: holder)
    totals.number = change.numbers.upperBound
    totals.recordCount += change.recordCount
    totals.byteCount += change.byteCount
    totals.historyByteCount += change.historyByteCount
    if let due = change.due { totals.look(at: due) }
    try totals.save(transaction, of: holder)
    try owners.change(holder) { owner in
      owner.charge(
        change.recordCount * host.catalogue.metadataFeeByteCount + change.byteCount,
        records: change.recordCount, reason: .documentsPushed, file: change.document,
        sequence: change.numbers.lowerBound)
    }
  }
}
