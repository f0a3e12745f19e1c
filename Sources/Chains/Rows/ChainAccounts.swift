import Accounts
import Base
import Storage

extension News.Topic {
  /// Signature chains: what their blocks and members are.
  static let chains = News.Topic("chains")
}

/// How many devices of which account are members of a chain.
struct ChainAccounts {
  let transaction: Transaction
  let chain: Chain

  /// Whose devices keys are, and whether they are revoked. Unknown keys are missing.
  static func devices(
    _ queryable: some Queryable, _ keys: Set<[UInt8]>
  ) throws -> [[UInt8]: (account: Identifier, isRevoked: Bool)] {
    var devices: [[UInt8]: (account: Identifier, isRevoked: Bool)] = [:]
    for list in SQLList.slices(of: keys.map { .blob($0) }, after: 0) {
      try queryable.query(
        """
        SELECT public_key, account_id, revoked_ms FROM sync.device_keys
        WHERE public_key IN (\(list.parameters))
        """, list.values
      ) { row in
        devices[try row.blob(0)] = (try row.id(1), try row.optionalInteger(2) != nil)
        return true
      }
    }
    return devices
  }

  /// How many members each account has, besides accounts that were erased.
  static func counts(
    _ queryable: some Queryable, of chain: Identifier
  ) throws -> [Identifier: Int64] {
    var counts: [Identifier: Int64] = [:]
    try queryable.query(
      "SELECT account_id, member_count FROM sync.chain_accounts WHERE chain_id = $1", [.id(chain)]
    ) { row in
      counts[try row.id(0)] = try row.integer(1)
      return true
    }
    return counts
  }

  /// How many chains of others an account has members in.
  static func countOfOthers(_ queryable: some Queryable, _ account: Identifier) throws -> Int64 {
    try queryable.first(
      "SELECT count(*) FROM sync.chain_accounts WHERE account_id = $1 AND owner_id <> $1",
      .id(account)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Stores the changed counts, and tells the accounts that join and those that leave.
  func save(_ counts: [Identifier: Int64], insteadOf before: [Identifier: Int64]) throws {
    for account in Set(counts.keys).union(before.keys).sorted() {
      let (old, new) = (before[account] ?? 0, counts[account] ?? 0)
      guard old != new else { continue }
      if new == 0 {
        try transaction.execute(
          "DELETE FROM sync.chain_accounts WHERE chain_id = $1 AND account_id = $2",
          .id(chain.id), .id(account))
      } else {
        try transaction.execute(
          """
          INSERT INTO sync.chain_accounts (chain_id, account_id, owner_id, member_count)
          VALUES ($1, $2, $3, $4)
          ON CONFLICT (chain_id, account_id) DO UPDATE SET member_count = excluded.member_count
          """, .id(chain.id), .id(account), .id(chain.owner), .integer(new))
      }
      if old == 0 || new == 0, account != chain.owner {
        transaction.report(News(of: account, .chains, chain.id))
        transaction.report(News(of: account, .account))
      }
    }
  }

  /// Erases one slice of an account's places in chains, of its own chains and of others'. Returns false if nothing was
  /// left. The blocks of others' chains keep its keys, because those are signed.
  static func erase(_ transaction: Transaction, _ account: Identifier) throws -> Bool {
    try ["owner_id", "account_id"].contains { column in
      let left = try transaction.rows(
        """
        DELETE FROM sync.chain_accounts WHERE (chain_id, account_id) IN (
          SELECT chain_id, account_id FROM sync.chain_accounts WHERE \(column) = $1 LIMIT $2)
        RETURNING chain_id, account_id, owner_id
        """, .id(account), .integer(Transaction.erasedCountMax)
      ) { row in
        (chain: try row.id(0), parties: [try row.id(1), try row.id(2)])
      }
      for (chain, parties) in left {
        for party in parties where party != account {
          transaction.report(News(of: party, .chains, chain))
          transaction.report(News(of: party, .account))
        }
      }
      return !left.isEmpty
    }
  }
}
