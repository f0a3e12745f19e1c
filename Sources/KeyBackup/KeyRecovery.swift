package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// The protocol of key backups: what devices seal for a recovery key, and the way back in for whoever lost every device.
///
/// A backup is not charged: it is small, and needed most when an account is full. Archives hold neither it nor the
/// recovery key, which is named anew where the account arrives, so that its devices there learn of it.
package struct KeyRecovery: ProtocolRoom {
  package static let name = "recovery"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost

  package init(_ host: ProtocolHost) { self.host = host }

  package var routes: [Route] {
    host.routes(
      PutRecoveryKey(host: host), DeleteRecoveryKey(host: host), PutKeyBackup(host: host),
      GetKeyBackup(host: host), PostRecovery(host: host), GetRecovery(host: host),
      DeleteRecovery(host: host))
  }

  package var upkeep: [Upkeep] {
    let queues = QueueWork(host.database, clock: host.clock)
    return [
      Upkeep("recovery", isUrgent: true) {
        let now = queues.clock.now()
        return try queues.takeNext(RecoveryQueue.queue) { transaction in
          try RecoveryQueue.next(transaction, now: now)
        } work: { transaction, account in
          try RecoveryQueue.advance(transaction, account, now: now)
        }
      }
    ]
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport { ProtocolExport() }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    let tables = [
      ("recovery_keys", "account_id, number"), ("recoveries", "account_id, number"),
      ("key_backups", "account_id, version"),
    ]
    return try tables.contains { table, key in
      try transaction.eraseSlice(of: table, by: key, where: "account_id", is: account)
    }
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    try RecoveryQueue.faults(of: account, in: database)
  }

  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    try RecoveryQueue.repair(of: account, in: database)
  }
}
