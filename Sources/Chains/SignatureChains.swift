package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// The protocol of signature chains: who belongs to a group of devices, in one order, each step signed by a member.
package struct SignatureChains: ProtocolRoom {
  package static let name = "chains"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost

  package init(_ host: ProtocolHost) {
    self.host = host
    ChainMetrics.register()
  }

  package var routes: [Route] {
    host.routes(
      GetChains(host: host), GetChain(host: host), GetChainBlocks(host: host),
      PostChains(host: host), PostChainBlocks(host: host), DeleteChain(host: host))
  }

  package var upkeep: [Upkeep] {
    [
      host.upkeep(
        ChainPurge.queue, of: "chains", by: "id", owner: "owner_id", at: "purge_ms"
      ) { transaction, chain, _ in try ChainPurge.sweep(transaction, chain) }
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try ChainPurge.erase(transaction, account)
  }

  /// Deletes the places in chains that the account got after it was erased.
  package static func forget(_ account: Identifier, in transaction: Transaction) throws -> Bool {
    try ChainAccounts.erase(transaction, account)
  }

  /// The chains of others in which the accounts have members.
  package static func followed(
    by accounts: [Identifier], atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier: [Followed]] {
    try Followed.byAccount(accounts, in: "chain_accounts", reading: queryable) { account in
      try queryable.rows(
        """
        SELECT owner_id, chain_id FROM sync.chain_accounts
        WHERE account_id = $1 AND left_ms IS NULL AND owner_id <> $1
        ORDER BY owner_id, chain_id LIMIT $2
        """, .id(account), .integer(Int64(count))
      ) { row in Followed(try row.id(0), .chains, try row.id(1)) }
    }
  }

  /// The accounts that have members in any of the owners' chains.
  package static func followers(
    of owners: [Identifier], in topic: News.Topic, atMost count: Int,
    reading queryable: some Queryable
  ) throws -> [Identifier] {
    guard topic == .chains else { return [] }
    return try Followed.accounts(
      of: owners, in: "chain_accounts", where: "account_id <> owner_id AND left_ms IS NULL",
      atMost: count, reading: queryable)
  }

  /// Writes nothing. A chain is an agreement between the devices of this server's accounts, and its keys mean nothing
  /// elsewhere: the devices begin another one there. It says how many are left behind.
  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    ProtocolExport(left: [
      (
        "chains_left", try Chain.count(reader, of: account),
        "signature chains, which the devices begin anew elsewhere"
      )
    ])
  }

  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    let chains = try Chain.all(queryable, of: account)
    guard !chains.isEmpty else { return [:] }
    return [
      "chain": UsageWeight(
        recordCount: Int64(chains.count), contentByteCount: chains.reduce(0) { $0 + $1.byteCount })
    ]
  }

  package static func faults(of account: Identifier, in database: Database) throws -> [String] {
    try ChainAudit.faults(of: account, in: database)
  }

  package static func repairTotals(of account: Identifier, in database: Database) throws -> Int {
    try ChainAudit.repair(account, in: database)
  }
}
