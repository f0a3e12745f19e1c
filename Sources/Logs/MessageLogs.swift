package import Accounts
package import Archive
package import Base
import Endpoints
package import HTTPServer
package import Storage

/// The protocol of message logs: what devices append, and read from each other in the order of their clocks.
package struct MessageLogs: ProtocolRoom {
  package static let name = "logs"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost
  private let snapshots: PutSnapshot

  package init(_ host: ProtocolHost) {
    self.host = host
    snapshots = PutSnapshot(host: host)
  }

  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PostLogs(host: host), GetLogs(host: host), GetLog(host: host), DeleteLog(host: host),
      PostEpochs(host: host), PostMessages(host: host), GetMessages(host: host),
      GetTrie(host: host), GetSnapshot(host: host),
    ]
    return endpoints.map { $0.route(on: host.database) } + [snapshots.route]
  }

  package var upkeep: [Upkeep] {
    let queues = QueueWork(host.database, clock: host.clock)
    return [
      Upkeep("logs", isUrgent: true) {
        let now = queues.clock.now()
        return try queues.takeNext(LogPurge.queue) { transaction in
          try LogPurge.next(transaction, now: now)
        } work: { transaction, epoch in
          try LogPurge.sweep(transaction, epoch, now: now)
        }
      }
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try LogPurge.erase(transaction, account, now: now)
  }

  /// No other account sees the end of a log.
  package static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    false
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
