package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// The protocol of message logs: what devices append, and read from each other in the order of their clocks.
package struct MessageLogs: ProtocolRoom {
  package static let name = "logs"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost
  private let snapshot: PutSnapshot

  package init(_ host: ProtocolHost) {
    self.host = host
    snapshot = PutSnapshot(host: host)
    LogMetrics.register()
  }

  package var routes: [Route] {
    host.routes(
      PostLogs(host: host), GetLogs(host: host), GetLog(host: host), DeleteLog(host: host),
      PostEpochs(host: host), PostMessages(host: host), GetMessages(host: host),
      GetTrie(host: host), GetSnapshot(host: host), PutLogKey(host: host), GetLogShares(host: host),
      PutLogShare(host: host), DeleteLogShare(host: host))
  }

  package var contents: [any ContentPut] { [snapshot] }

  package var upkeep: [Upkeep] {
    [
      host.upkeep(
        LogPurge.queue, isUrgent: true, of: "log_epochs", by: "id", owner: "owner_id",
        at: "purge_ms"
      ) { try LogPurge.sweep($0, $1, now: $2) }
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try LogPurge.erase(transaction, account, now: now)
  }

  /// Deletes what was shared with the account after it was erased.
  package static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    try LogShare.erase(transaction, account)
  }

  /// The logs that others share with the accounts.
  package static func followed(
    by accounts: [Identifier], atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier: [Followed]] {
    try Followed.byAccount(accounts, in: "log_shares", reading: queryable) { account in
      try queryable.rows(
        """
        SELECT owner_id, log_id FROM sync.log_shares WHERE account_id = $1 AND state = 'accepted'
        ORDER BY owner_id, log_id LIMIT $2
        """, .id(account), .integer(Int64(count))
      ) { row in Followed(try row.id(0), .logs, try row.id(1)) }
    }
  }

  /// The accounts that see any of the owners' logs.
  package static func followers(
    of owners: [Identifier], in topic: News.Topic, atMost count: Int,
    reading queryable: some Queryable
  ) throws -> [Identifier] {
    guard topic == .logs else { return [] }
    return try Followed.accounts(
      of: owners, in: "log_shares", where: "state = 'accepted'", atMost: count, reading: queryable)
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    try LogExport.write(account, from: reader, to: archive, progress: progress)
  }

  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    let logs = try MessageLog.all(queryable, of: account)
    guard !logs.isEmpty else { return [:] }
    return [
      "log": UsageWeight(
        recordCount: Int64(logs.count),
        contentByteCount: logs.reduce(0) { $0 + $1.chargedByteCount })
    ]
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    try LogAudit.faults(of: account, in: database)
  }

  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    try LogRepair.perform(on: account, in: database)
  }
}
