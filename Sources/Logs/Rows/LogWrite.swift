package import Accounts
package import Base
import JSON
import Requests
import Storage
import Tiers

/// What changes a log: its creation, messages, snapshots, shares, its deletion. Each is charged in its own transaction. The
/// rows of the caller's account and of the log's owner must be locked.
package struct LogWrite {
  let host: ProtocolHost
  let transaction: Transaction
  let account: Identifier
  let now: Instant

  var catalogue: Catalogue { host.catalogue }

  /// How far ahead of this server's clock a timestamp may be. Devices refuse what is more than 5 minutes ahead of
  /// theirs, so what passes here stops them for minutes, not for good.
  static let timestampAheadMax = Instant.Span.minutes(10)

  /// Creates a log for the caller, with an empty epoch.
  func create(_ log: NewLog, _ owners: inout LockedOwners) throws -> Outcome {
    try owners.requireWritable([account], by: account, transaction)
    guard try Self.count(transaction, of: account) < MessageLog.countMax else {
      throw LogRefusal.tooManyLogs(max: MessageLog.countMax)
    }
    guard try MessageLog.owner(transaction, of: log.id) == nil else { throw LogRefusal.logExists }
    let fee = catalogue.metadataFeeByteCount
    try owners.require(account).requireRoom(
      for: fee, askedBy: account, transaction, catalogue: catalogue, now: now)
    try charge(fee, records: 1, .recordCreated, log.id, of: account, &owners)
    let epoch = try MessageLog.insert(
      transaction, log.id, of: account, name: log.name, key: log.key, created: now)
    // Another account's request for the same id was faster.
    guard epoch != nil else { throw LogRefusal.logExists }
    return Outcome(201, headers: [("Location", "/v1/logs/\(log.id)")], try json(of: log.id))
  }

  /// One of the caller's logs as it is now.
  private func json(of log: Identifier) throws -> JSONValue {
    .object(try MessageLog.find(transaction, log, for: account).members(transaction))
  }

  private static func count(_ queryable: some Queryable, of account: Identifier) throws -> Int64 {
    try queryable.first("SELECT count(*) FROM sync.logs WHERE owner_id = $1", .id(account)) { row in
      try row.integer(0)
    } ?? 0
  }

  /// Appends the messages whose timestamps the epoch does not have. A message whose timestamp it has is not stored
  /// again, whatever its content: the first one stays. So a request that is repeated has no second effect.
  func append(
    _ batch: LogBatch, to id: Identifier, _ owners: inout LockedOwners
  ) throws -> Appended {
    let seen = try SeenLog.find(transaction, id, by: account)
    guard seen.share?.mode != .read else { throw LogRefusal.notPermitted }
    let log = seen.log
    try owners.requireWritable([log.owner], by: account, transaction)
    guard log.epoch == batch.epoch else { throw LogRefusal.epochChanged(current: log.epoch) }
    let latest = now + Self.timestampAheadMax
    if let ahead = batch.messages.first(where: { $0.timestamp.instant > latest }) {
      throw LogRefusal.timestampAhead(ahead.timestamp, latest: latest)
    }
    let rows = LogRows(transaction: transaction, epoch: log.epoch)
    let (added, different) = try rows.sort(batch.messages)
    if let horizon = log.horizon, let old = added.first(where: { $0.timestamp <= horizon }) {
      throw LogRefusal.beforeHorizon(old.timestamp, horizon: horizon)
    }
    var trie = LogTrie.open(log.epoch, transaction)
    if !added.isEmpty {
      try charge(added, to: log, &owners)
      try rows.insert(added, after: log.messageCount)
      try trie.add(added.lazy.map(\.timestamp))
      try LogTrie.save(trie, of: log.epoch, in: transaction)
    }
    return Appended(
      log: log.id, owner: log.owner, epoch: log.epoch, head: log.messageCount + Int64(added.count),
      addedCount: added.count, addedByteCount: added.reduce(0) { $0 + Int64($1.content.count) },
      root: try trie.root(), different: different)
  }

  private func charge(
    _ added: [LogMessage], to log: MessageLog, _ owners: inout LockedOwners
  ) throws {
    let delta = added.reduce(0) { $0 + $1.chargedByteCount }
    guard log.messageCount + Int64(added.count) <= MessageLog.messageCountMax,
      log.byteCount + delta <= MessageLog.byteCountMax
    else {
      throw LogRefusal.logFull(
        messageCountMax: MessageLog.messageCountMax, byteCountMax: MessageLog.byteCountMax)
    }
    try requireRoom(for: delta, of: owners.require(log.owner))
    try charge(delta, .messagesAppended, log.id, of: log.owner, &owners)
    try MessageLog.count(transaction, Int64(added.count), byteCount: delta, in: log.epoch)
  }

  /// Charges the owner of a log for a change of it. Returns the number of the change.
  @discardableResult
  func charge(
    _ delta: Int64, records: Int64 = 0, _ reason: UsageReason, _ log: Identifier,
    of owner: Identifier, _ owners: inout LockedOwners
  ) throws -> Int64 {
    let number = try owners.charge(
      owner, delta, records: records, reason: reason, file: log, for: .logs, log)
    try owners.save(transaction, now: now)
    return number
  }

  private func requireRoom(for delta: Int64, of owner: LockedOwner) throws {
    try requireAllowance(for: delta, of: owner)
    let lack = try owner.lack(
      of: delta, growingBy: delta, reserved: 0, askedBy: account, transaction, catalogue: catalogue,
      now: now)
    let overdraft = try LogOverdraft.byteCount(transaction, of: owner.account)
    guard let lack else {
      if overdraft > 0 { try LogOverdraft.clear(transaction, of: owner.account) }
      return
    }
    guard case .overCap = lack else { throw lack }
    let cap = try Cap(transaction, owner.account, catalogue: catalogue, now: now).byteCount
    let over = min(delta, owner.usageByteCount - cap + delta)
    guard overdraft + over <= LogOverdraft.byteCountMax else { throw lack }
    try LogOverdraft.change(transaction, of: owner.account, by: over)
  }

  /// Refuses more bytes while what the account ended still waits to be deleted.
  func requireAllowance(for byteCount: Int64, of owner: LockedOwner) throws {
    guard owner.keptByteCount > 0 else { return }
    try Allowance.require(
      byteCount, reserved: 0, of: owner, transaction, catalogue: catalogue, now: now)
  }

  /// The caller's own log, if it may change it now.
  func writable(_ id: Identifier, _ owners: LockedOwners) throws -> MessageLog {
    let log = try SeenLog.own(transaction, id, by: account)
    try owners.requireWritable([log.owner], by: account, transaction)
    return log
  }

  /// Replaces what the account's devices keep with the log: its key, for example.
  func setKey(
    _ key: [UInt8]?, of id: Identifier, _ owners: inout LockedOwners
  ) throws -> Outcome {
    let log = try writable(id, owners)
    try transaction.execute(
      "UPDATE sync.logs SET key = $2 WHERE id = $1", .id(log.id), .blob(key))
    _ = try owners.change(log.owner) { $0.nextSequence(for: .logs, log.id) }
    try owners.save(transaction, now: now)
    return Outcome(200, try json(of: id))
  }

  /// Begins an epoch with the log's snapshot. It is taken at any usage, because the log only gets smaller.
  func beginEpoch(
    of id: Identifier, covering cursor: LogCursor, _ owners: inout LockedOwners
  ) throws -> Outcome {
    let log = try writable(id, owners)
    try BudgetOfLog.requireNone(of: log.id, transaction)
    try EpochStart(write: self, log: log).begin(covering: cursor, &owners)
    return Outcome(201, try json(of: id))
  }

  /// Begins an epoch without messages and without a horizon. It has the log's snapshot, for as long as no other is put.
  package func reset(
    _ log: MessageLog, to epoch: Identifier, _ owners: inout LockedOwners
  ) throws {
    try charge(-log.byteCount, .epochBegun, log.id, of: log.owner, &owners)
    try LogOverdraft.change(transaction, of: log.owner, by: -log.byteCount)
    try MessageLog.insertEpoch(
      transaction, epoch, of: log.id, log.owner, horizon: nil, snapshot: log.snapshot?.object)
    try begin(epoch, of: log)
  }

  /// Makes an epoch the one that takes messages. The one before can be taken back while deleted things are kept.
  func begin(_ epoch: Identifier, of log: MessageLog) throws {
    try transaction.execute(
      "UPDATE sync.logs SET epoch_id = $2 WHERE id = $1", .id(log.id), .id(epoch))
    try LogPurge.keep(
      log, until: now + host.limits.deletionHorizon, transaction, catalogue: catalogue, now: now)
  }

  /// Deletes a log. Its messages and its snapshot stop being charged, and go in slices.
  func delete(_ id: Identifier, _ owners: inout LockedOwners) throws -> Outcome {
    let log = try SeenLog.own(transaction, id, by: account)
    try transaction.execute("DELETE FROM sync.logs WHERE id = $1", .id(id))
    try LogShare.deleteAll(transaction, of: id, by: account)
    try BudgetOfLog.forget(id, transaction)
    try LogPurge.release(transaction, log.epoch, now: now)
    try LogPurge.releaseKept(transaction, of: id, now: now)
    try charge(
      -catalogue.metadataFeeByteCount - log.chargedByteCount, records: -1, .recordDeleted, id,
      of: log.owner, &owners)
    try LogOverdraft.change(transaction, of: log.owner, by: -log.byteCount)
    return Outcome(status: 204, body: [])
  }
}
