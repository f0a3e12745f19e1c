package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// The protocol of mailboxes: sealed messages between devices, and the key packages that let devices into groups.
package struct DeviceMailboxes: ProtocolRoom {
  package static let name = "mailboxes"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost

  package init(_ host: ProtocolHost) {
    self.host = host
    MailboxMetrics.register()
  }

  package var routes: [Route] {
    host.routes(
      PostMessages(host: host), GetMailbox(host: host), DeleteMessage(host: host),
      PostKeyPackages(host: host), PostClaim(host: host))
  }

  package var upkeep: [Upkeep] {
    let queues = QueueWork(host.database, clock: host.clock)
    return [
      Upkeep("mailboxes", isUrgent: false) {
        let now = queues.clock.now()
        let expiredCount = Locked(0)
        let isAnyDue = try queues.takeNext(MailboxPurge.queue) { transaction in
          try MailboxPurge.next(transaction, now: now)
        } work: { transaction, account in
          let count = try MailboxPurge.sweep(transaction, account, host: host, now: now)
          expiredCount.withLock { $0 = count }
        }
        MailboxMetrics.expired.add(Int64(expiredCount.withLock { $0 }))
        return isAnyDue
      }
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try MailboxPurge.erase(transaction, account, now: now)
  }

  /// Writes nothing: messages are on their way, and key packages are of this server's keys. Counts what stays.
  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    ProtocolExport(left: [
      (
        "messages_left", try MailboxTotals(reader, of: account).messages.count,
        "messages, which wait in mailboxes of this server"
      )
    ])
  }

  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    let totals = try MailboxTotals(queryable, of: account)
    var weights: [String: UsageWeight] = [:]
    if totals.messages != Load() { weights["message"] = totals.messages.weight }
    if totals.packages != Load() { weights["key_package"] = totals.packages.weight }
    return weights
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    let (recorded, sum) = try MailboxSum.read(of: account, in: database)
    return try (sum.fault(of: recorded).map { ["of mailboxes, \($0)"] } ?? [])
      + MailboxAudit.faults(of: account, in: database)
  }

  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    try MailboxRepair.perform(on: account, in: database)
  }
}

extension Load {
  fileprivate var weight: UsageWeight {
    UsageWeight(recordCount: count, contentByteCount: byteCount)
  }
}
