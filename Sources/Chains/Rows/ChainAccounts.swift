import Accounts
import Base
import Storage

/// How many devices of which account are members of a chain.
struct ChainAccounts {
  let transaction: Transaction
  let chain: Chain

  /// Whose devices keys are, and whether they are revoked. Unknown keys are missing.
  static func devices(
    _ queryable: some Queryable, _ keys: Set<[UInt8]>
  ) throws -> [[UInt8]: (account: Identifier, isRevoked: Bool)] {
    let devices = try queryable.rows(in: keys.map { .blob($0) }) { list in
      """
      SELECT public_key, account_id, revoked_ms FROM sync.device_keys
      WHERE public_key IN (\(list))
      """
    } row: { row in
      (try row.blob(0), (account: try row.id(1), isRevoked: try row.optionalInteger(2) != nil))
    }
    return Dictionary(uniqueKeysWithValues: devices)
  }

  /// How many members each account has, besides accounts that were erased. Those that left count, too.
  static func counts(
    _ queryable: some Queryable, of chain: Identifier
  ) throws -> [Identifier: Int64] {
    let counts = try queryable.rows(
      "SELECT account_id, member_count FROM sync.chain_accounts WHERE chain_id = $1", .id(chain)
    ) { row in (try row.id(0), try row.integer(1)) }
    return Dictionary(uniqueKeysWithValues: counts)
  }

  /// Whether an account has left the chain, and devices of it are still members.
  func hasLeft(_ account: Identifier) throws -> Bool {
    try transaction.first(
      """
      SELECT 1 FROM sync.chain_accounts
      WHERE chain_id = $1 AND account_id = $2 AND left_ms IS NOT NULL
      """, .id(chain.id), .id(account)
    ) { _ in true } ?? false
  }

  /// Whether an account has a place for this chain of another, to which a device of `author` adds it.
  func hasRoom(in account: Identifier, for author: Identifier) throws -> Bool {
    let found = try transaction.first(
      """
      SELECT count(*), count(CASE WHEN k.account_id = $2 THEN 1 END)
      FROM sync.chain_accounts AS a LEFT JOIN sync.device_keys AS k ON k.public_key = a.added_by
      WHERE a.account_id = $1 AND a.left_ms IS NULL AND a.owner_id <> $1 AND a.chain_id <> $3
      """, .id(account), .id(author), .id(chain.id)
    ) { row in (all: try row.integer(0), ofAuthor: try row.integer(1)) }
    guard let found else { return true }
    return found.all < Chain.countMax && found.ofAuthor < Chain.countOfOneMax
  }

  /// Ends the part of an account in this chain of another.
  func leave(_ account: Identifier, at now: Instant) throws {
    try transaction.execute(
      "UPDATE sync.chain_accounts SET left_ms = $3 WHERE chain_id = $1 AND account_id = $2",
      .id(chain.id), .id(account), .instant(now))
    transaction.report(News(of: account, .chains, chain.id))
    transaction.report(News(of: account, .account))
    // Its followers are the other members.
    transaction.report(News(of: chain.owner, .chains, chain.id))
  }

  /// Stores the counts that a device with the key `author` changed, and tells accounts that join or are removed. Those
  /// that are `replaced` had been added by a block whose place another one took.
  func save(
    _ counts: [Identifier: Int64], insteadOf before: [Identifier: Int64],
    replaced: Set<Identifier> = [], by author: [UInt8]
  ) throws {
    for account in Set(counts.keys).union(before.keys).sorted() {
      let (old, new) = (before[account] ?? 0, counts[account] ?? 0)
      let isReplaced = replaced.contains(account)
      guard old != new || isReplaced else { continue }
      if new == 0 || isReplaced {
        try transaction.execute(
          "DELETE FROM sync.chain_accounts WHERE chain_id = $1 AND account_id = $2",
          .id(chain.id), .id(account))
      }
      if new > 0, old > 0, !isReplaced {
        // No new row: the account's row is not held, and its erasure may have taken this one.
        try transaction.execute(
          "UPDATE sync.chain_accounts SET member_count = $3 WHERE chain_id = $1 AND account_id = $2",
          .id(chain.id), .id(account), .integer(new))
      } else if new > 0 {
        try transaction.execute(
          """
          INSERT INTO sync.chain_accounts (chain_id, account_id, owner_id, member_count, added_by)
          VALUES ($1, $2, $3, $4, $5)
          """, .id(chain.id), .id(account), .id(chain.owner), .integer(new), .blob(author))
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
