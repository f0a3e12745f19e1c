package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage
import Tiers

/// The protocol of documents of versions: what each device of an account says of a document, merged on the devices.
package struct VersionedDocuments: ProtocolRoom {
  package static let name = "documents"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost
  private let blob: PutBlob

  package init(_ host: ProtocolHost) {
    self.host = host
    blob = PutBlob(host: host)
    DocumentMetrics.register()
  }

  package var routes: [Route] {
    host.routes(
      PostDocuments(host: host), PostPull(host: host), GetDocumentVersions(host: host),
      GetBlob(host: host))
  }

  package var contents: [any ContentPut] { [blob] }

  package var upkeep: [Upkeep] {
    let queues = QueueWork(host.database, clock: host.clock)
    return [
      host.upkeep(DocumentPurge.queue, of: "document_totals", by: "account_id", at: "due_ms") {
        try DocumentPurge.sweep($0, $1, host: host, now: $2)
      },
      Upkeep("documents.blobs", isUrgent: false) {
        let now = queues.clock.now()
        return try queues.takeNext(DocumentBlob.queue) {
          try DocumentBlob.next($0, now: now)
        } work: {
          try DocumentBlob.sweep($0, $1, now: now)
        }
      },
      Upkeep("documents.releases", isUrgent: false) {
        let now = queues.clock.now()
        return try queues.takeNext(DocumentReleases.queue) {
          try DocumentReleases.next($0, now: now)
        } work: {
          try DocumentReleases.sweep($0, $1, now: now)
        }
      },
    ]
  }

  /// Takes back what its devices wrote in other accounts.
  package func withdraw(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try DocumentWithdrawal.sweep(
      transaction, account, fee: host.catalogue.metadataFeeByteCount, now: now)
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try DocumentPurge.erase(transaction, account, now: now)
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    try DocumentExport.write(account, from: reader, to: archive, progress: progress)
  }

  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    let totals = try DocumentTotals(queryable, of: account)
    return totals.number == 0 ? [:] : ["document_version": totals.weight]
  }

  package static func historyByteCount(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> Int64 {
    try DocumentTotals(queryable, of: account).historyByteCount
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    let (recorded, sum) = try DocumentSum.read(of: account, in: database)
    return try (sum.fault(of: recorded).map { ["of documents of versions, \($0)"] } ?? [])
      + DocumentAudit.faults(of: account, in: database)
  }

  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    try DocumentRepair.perform(on: account, in: database)
  }
}
