package import Base
package import Requests
package import Storage

extension News.Topic {
  /// Files, shares and invitations: what `GET /v1/updates` sends.
  package static let tree = News.Topic("tree")
  /// Message logs. The subject is a log; without one it is what `GET /v1/logs` sends.
  package static let logs = News.Topic("logs")
  /// Signature chains. The subject is a chain; without one it is what `GET /v1/chains` sends.
  package static let chains = News.Topic("chains")
}

/// The account rows that a transaction holds, so that no other transaction changes these accounts. A row's UPDATE is
/// the lock on both engines. Rows are locked in ascending order, so that no two transactions wait for each other.
/// What was read before the lock is read again, because on PostgreSQL it may have changed.
package struct LockedOwners {
  private var owners: [Identifier: LockedOwner] = [:]

  /// Locks the accounts that exist.
  package init(_ transaction: Transaction, _ accounts: Set<Identifier>) throws {
    for account in accounts.sorted() {
      owners[account] = try LockedOwner(transaction, account)
    }
  }

  package var accounts: Set<Identifier> { Set(owners.keys) }

  /// The current sequence number of each account.
  package var numbers: [Identifier: Int64] { owners.mapValues(\.sequence) }

  /// If the row is not held, the account was not involved before: the write runs again and locks it.
  package func require(_ account: Identifier) throws -> LockedOwner {
    guard let owner = owners[account] else { throw OutdatedDecision() }
    return owner
  }

  /// Refuses to write for, or into, a suspended account. One that is being deleted is suspended, too.
  package func requireWritable(
    _ accounts: some Sequence<Identifier>, by caller: Caller, _ transaction: Transaction
  ) throws {
    if caller.isSuspended { try refuse(caller.account, by: caller.account, transaction) }
    try requireWritable(accounts, by: caller.account, transaction)
  }

  /// The same for a caller whose account's row is held, or who is the operator.
  package func requireWritable(
    _ accounts: some Sequence<Identifier>, by caller: Identifier, _ transaction: Transaction
  ) throws {
    let suspended = ([caller] + accounts).first { owners[$0]?.isSuspended ?? false }
    if let suspended { try refuse(suspended, by: caller, transaction) }
  }

  private func refuse(
    _ suspended: Identifier, by caller: Identifier, _ transaction: Transaction
  ) throws {
    if let departure = try Departure.find(suspended, reading: transaction) {
      throw AccountRefusal.accountLeaving(departure, isCallers: suspended == caller)
    }
    throw AccountRefusal.accountSuspended(isCallers: suspended == caller)
  }

  /// The next number of an account's sequence, for a change of its tree.
  package mutating func nextSequence(of account: Identifier) throws -> Int64 {
    try change(account) { $0.nextSequence() }
  }

  package mutating func change<Value>(
    _ account: Identifier, _ body: (inout LockedOwner) throws -> Value
  ) throws -> Value {
    var owner = try require(account)
    let value = try body(&owner)
    owners[account] = owner
    return value
  }

  /// Charges an account for a change of a topic under its next number, which is returned.
  @discardableResult
  package mutating func charge(
    _ account: Identifier, _ delta: Int64, records: Int64 = 0, reason: UsageReason,
    file: Identifier, for topic: News.Topic, _ subject: Identifier? = nil, quietly: Bool = false
  ) throws -> Int64 {
    try change(account) { owner in
      let number = owner.nextSequence(for: topic, subject, quietly: quietly)
      owner.charge(delta, records: records, reason: reason, file: file, sequence: number)
      return number
    }
  }

  /// Writes totals, sequences and the usage ledger, as far as they changed since they were locked or last saved.
  package mutating func save(_ transaction: Transaction, now: Instant) throws {
    for account in owners.keys { try owners[account]?.save(transaction, now: now) }
  }
}

/// A locked account row, with its sequence and usage.
package struct LockedOwner {
  package let account: Identifier
  package private(set) var sequence: Int64
  package private(set) var usageByteCount: Int64
  package private(set) var recordCount: Int64
  /// The size of the objects that wait to be deleted, as of the lock.
  package let keptByteCount: Int64
  /// Whether an operator has blocked the account's writes.
  package let isSuspended: Bool
  /// The part of the usage that is in earlier versions of documents.
  package private(set) var historyByteCount: Int64
  /// The part of the usage that is in the trash.
  package private(set) var trashByteCount: Int64
  /// Whether the oldest versions, and then the oldest trash, are deleted before a write is refused for lack of room.
  package let purgesHistory: Bool
  /// Whether any of its folders has, or had, a cap of its own.
  package let hasFolderCaps: Bool
  /// When to look next for versions and trash to delete; nil if there are none.
  private var historyDue: Instant?

  private var isChanged = false
  /// What the numbers were taken for. The subject is nil if the topic has none.
  private var changed: [News.Topic: Set<Identifier?>] = [:]
  /// Whether a device may need to act on any of these changes.
  private var isLoud = false
  private var entries: [UsageReason: Entry] = [:]
  /// The value as it was last saved.
  private var sequenceBefore: Int64
  /// The value when the row was locked.
  private let usageBefore: Int64

  private struct Entry {
    var delta: Int64
    let file: Identifier
    let sequence: Int64
  }

  /// Nil if there is no such account.
  package init?(_ transaction: Transaction, _ account: Identifier) throws {
    let row = try transaction.first(
      """
      UPDATE sync.accounts SET seq = seq WHERE id = $1
      RETURNING seq, usage_bytes, record_count, kept_bytes, suspended_ms, history_bytes,
        purges_history, history_due_ms, trash_bytes, caps_folders
      """, .id(account)
    ) { row in
      (
        try row.integer(0), try row.integer(1), try row.integer(2), try row.integer(3),
        try row.optionalInteger(4) != nil, try row.integer(5), try row.integer(6) == 1,
        try row.optionalInstant(7), try row.integer(8), try row.integer(9) == 1
      )
    }
    guard let row else { return nil }
    self.account = account
    (
      sequence, usageByteCount, recordCount, keptByteCount, isSuspended, historyByteCount,
      purgesHistory, historyDue, trashByteCount, hasFolderCaps
    ) = row
    sequenceBefore = sequence
    usageBefore = usageByteCount
  }

  /// The number of the next changed record. Clients that listen are told of the change of the topic.
  package mutating func nextSequence(
    for topic: News.Topic = .tree, _ subject: Identifier? = nil, quietly: Bool = false
  ) -> Int64 {
    takeSequences(1, for: topic, subject, quietly: quietly) + 1
  }

  /// Takes numbers for `count` changed records: those after the returned one. `quietly`: no device is woken.
  package mutating func takeSequences(
    _ count: Int, for topic: News.Topic = .tree, _ subject: Identifier? = nil,
    quietly: Bool = false
  ) -> Int64 {
    isChanged = true
    isLoud = isLoud || !quietly
    changed[topic, default: []].insert(subject)
    defer { sequence += Int64(count) }
    return sequence
  }

  /// Changes the total, of which `history` and `trash` are parts, and adds to the usage ledger, one entry for each
  /// reason with the first file and its number. A recount may add a second amount.
  package mutating func charge(
    _ delta: Int64, ledger: Int64? = nil, history: Int64 = 0, trash: Int64 = 0,
    records: Int64 = 0, reason: UsageReason, file: Identifier, sequence: Int64
  ) {
    isChanged = true
    usageByteCount += delta
    historyByteCount += history
    trashByteCount += trash
    recordCount += records
    entries[reason, default: Entry(delta: 0, file: file, sequence: sequence)].delta +=
      ledger ?? delta
  }

  /// The usage besides versions and trash.
  package var liveByteCount: Int64 { usageByteCount - historyByteCount - trashByteCount }

  /// Whether any document may have earlier versions.
  package var mayHaveVersions: Bool { historyDue != nil }

  /// Plans that `VersionUpkeep` looks at the account at `moment` or earlier, for what was just kept.
  package mutating func lookForKept(at moment: Instant) {
    isChanged = true
    historyDue = min(historyDue ?? moment, moment)
  }

  /// Plans when `VersionUpkeep`, which has just looked, looks next; nil: the account keeps nothing.
  package mutating func lookForKept(next moment: Instant?) {
    isChanged = true
    historyDue = moment
  }

  fileprivate mutating func save(_ transaction: Transaction, now: Instant) throws {
    guard isChanged else { return }
    // A write that was admitted because versions make room for it has them deleted at once.
    let isPurging =
      purgesHistory && historyByteCount + trashByteCount > 0 && usageByteCount > usageBefore
    let due = isPurging ? historyDue.map { min($0, now) } : historyDue
    for (reason, entry) in entries {
      try UsageEntry(
        number: entry.sequence, deltaByteCount: entry.delta, reason: reason.rawValue,
        file: entry.file, at: now
      ).append(transaction, of: account)
    }
    for (topic, subjects) in changed {
      for subject in subjects {
        transaction.report(
          News(
            of: account, topic, subject, number: sequence, count: sequence - sequenceBefore,
            isQuiet: !isLoud))
      }
    }
    try UsageEntry.fold(transaction, of: account, from: sequenceBefore, to: sequence)
    try transaction.execute(
      """
      UPDATE sync.accounts
      SET seq = $2, usage_bytes = $3, record_count = $4, history_bytes = $5, history_due_ms = $6,
        trash_bytes = $7, loud_seq = coalesce($8, loud_seq)
      WHERE id = $1
      """,
      .id(account), .integer(sequence), .integer(usageByteCount), .integer(recordCount),
      .integer(historyByteCount), .instant(due), .integer(trashByteCount),
      isLoud ? .integer(sequence) : .null)
    (isChanged, isLoud, entries, changed) = (false, false, [:], [:])
    (sequenceBefore, historyDue) = (sequence, due)
  }
}
