import Base
import Storage

/// The rows of a chain's members at its head. Former members are in the blocks alone, so they cost nothing here.
struct MemberRows<Source: Queryable> {
  let source: Source
  let chain: Identifier

  /// Since which epoch each of the keys is a member, if it is one.
  func since(_ keys: Set<[UInt8]>) throws -> [[UInt8]: Int64] {
    let since = try source.rows(in: keys.map { .blob($0) }, .id(chain)) { list in
      """
      SELECT public_key, added_epoch FROM sync.chain_members
      WHERE chain_id = $1 AND public_key IN (\(list))
      """
    } row: { row in
      (try row.blob(0), try row.integer(1))
    }
    return Dictionary(uniqueKeysWithValues: since)
  }

  func all() throws -> [ChainMember] {
    try source.rows(
      """
      SELECT m.public_key, m.added_epoch, k.account_id, k.revoked_ms, a.left_ms
      FROM sync.chain_members AS m LEFT JOIN sync.device_keys AS k ON k.public_key = m.public_key
        LEFT JOIN sync.chain_accounts AS a
          ON a.chain_id = m.chain_id AND a.account_id = k.account_id
      WHERE m.chain_id = $1 ORDER BY m.added_epoch, m.public_key
      LIMIT $2
      """, .id(chain), .integer(ChainMembers.countMax)
    ) { row in
      ChainMember(
        publicKey: try row.blob(0), since: try row.integer(1), account: try row.optionalID(2),
        isRevoked: try row.optionalInteger(3) != nil, hasLeft: try row.optionalInteger(4) != nil)
    }
  }
}

/// A device that belongs to a chain.
package struct ChainMember: Sendable {
  package let publicKey: [UInt8]
  /// The epoch of the block that added it.
  let since: Int64
  /// Nil if the account was erased.
  let account: Identifier?
  let isRevoked: Bool
  /// Whether its account has left the chain.
  let hasLeft: Bool
}

extension [ChainMember] {
  /// The devices to which messages to the members go.
  package var receivers: [[UInt8]] {
    filter { !$0.isRevoked && !$0.hasLeft }.map(\.publicKey)
  }
}

extension MemberRows<Transaction> {
  func add(_ keys: [[UInt8]], at epoch: Int64) throws {
    try source.insert(
      keys.map { [.blob($0), .integer(epoch)] }, of: chain,
      into: "chain_members (chain_id, public_key, added_epoch)")
  }

  func remove(_ keys: [[UInt8]]) throws {
    try source.execute(in: keys.map { .blob($0) }, .id(chain)) { list in
      "DELETE FROM sync.chain_members WHERE chain_id = $1 AND public_key IN (\(list))"
    }
  }
}
