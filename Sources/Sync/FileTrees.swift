package import Accounts
package import Archive
package import Base
import Endpoints
package import HTTPServer
package import Storage

/// The protocol of file trees: files, their contents, shares and updates.
package struct FileTrees: ProtocolRoom {
  package static let name = "files"
  package static let remedy = "coffer tree validate --all --repair"

  private let host: ProtocolHost
  private let content: PutContent

  package init(_ host: ProtocolHost) {
    self.host = host
    content = PutContent(host: host)
  }

  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PostFiles(host: host), GetFile(host: host), GetContent(host: host), GetUpdates(host: host),
      GetVersions(host: host), PostRestore(host: host),
      GetFolderCap(host: host), PutFolderCap(host: host),
      GetTrash(host: host), RestoreTrash(host: host), PurgeTrash(host: host),
    ]
    return endpoints.map { $0.route(on: host.database) }
  }

  package var contents: [any ContentPut] { [content] }

  package var upkeep: [Upkeep] { TreeUpkeep(host).upkeep }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try TreeErasure.sweep(transaction, account, now: now)
  }

  package static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    try TreeErasure.forget(transaction, account)
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    try TreeExport.write(account, from: reader, to: archive, progress: progress)
  }

  package static func followed(
    by accounts: [Identifier], atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier: [Followed]] {
    try Followed.byAccount(accounts, in: "views", reading: queryable) { account in
      try queryable.rows(
        "SELECT owner_id FROM sync.views WHERE account_id = $1 ORDER BY owner_id LIMIT $2",
        .id(account), .integer(Int64(count))
      ) { row in Followed(try row.id(0), .tree) }
    }
  }

  package static func followers(
    of owners: [Identifier], in topic: News.Topic, atMost count: Int,
    reading queryable: some Queryable
  ) throws -> [Identifier] {
    guard topic == .tree else { return [] }
    return try Followed.accounts(of: owners, in: "views", atMost: count, reading: queryable)
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    var audit = TreeAudit(account, objects: nil)
    var findings: [TreeFinding] = []
    while !audit.isRead, findings.count < Faults.countMax {
      findings += try database.read { try audit.readSlice($0) }
    }
    return findings.map { "\($0.subject) breaks the rule \($0.law.rawValue): \($0.law.text)" }
  }
}
