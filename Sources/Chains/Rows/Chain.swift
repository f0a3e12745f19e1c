import Accounts
package import Base
package import JSON
import Requests
package import Storage

/// A chain as its row says: whose it is, its head, and what it is charged with.
package struct Chain: Sendable {
  package let id: Identifier
  package let owner: Identifier
  /// Whether it has the account's own devices. A device that leaves it is revoked.
  let isOwn: Bool
  package internal(set) var head: ChainPoint
  var memberCount: Int
  /// The charge besides the fee of a record.
  var byteCount: Int64
  let created: Instant
  /// The last block whose place another one took.
  var replaced: Replaced?

  struct Replaced: Equatable, Sendable {
    let point: ChainPoint
    let at: Instant
  }

  /// The chains that an account may own, and those of others that it may have members in.
  static let countMax: Int64 = 256
  /// Those of others that devices of one other account may have added it to.
  static let countOfOneMax: Int64 = 64

  private static let columns = """
    c.id, c.owner_id, c.own, c.head_epoch, c.head_hash, c.member_count, c.bytes, c.created_ms,
    c.replaced_epoch, c.replaced_hash, c.replaced_ms
    """

  /// A chain that an account has members in and has not left. Others' are not told from those that do not exist.
  package static func seen(
    _ queryable: some Queryable, _ id: Identifier, by account: Identifier
  ) throws -> Chain {
    let found = try queryable.first(
      """
      SELECT \(columns) FROM sync.chain_accounts AS a JOIN sync.chains AS c ON c.id = a.chain_id
      WHERE a.chain_id = $1 AND a.account_id = $2 AND a.left_ms IS NULL
      """, .id(id), .id(account)
    ) { row in try Chain(row: row) }
    guard let found else { throw ChainRefusal.chainNotFound }
    return found
  }

  /// The account that owns a chain which another account reads; nil if that one does not.
  package static func owner(
    _ queryable: some Queryable, of id: Identifier, seenBy account: Identifier
  ) throws -> Identifier? {
    try queryable.first(
      """
      SELECT owner_id FROM sync.chain_accounts
      WHERE chain_id = $1 AND account_id = $2 AND left_ms IS NULL
      """, .id(id), .id(account)
    ) { row in try row.id(0) }
  }

  /// The chains that an account reads, its own first.
  static func all(_ queryable: some Queryable, seenBy account: Identifier) throws -> [Chain] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.chain_accounts AS a JOIN sync.chains AS c ON c.id = a.chain_id
      WHERE a.account_id = $1 AND a.left_ms IS NULL
      ORDER BY c.own DESC, c.created_ms, c.id LIMIT $2
      """, .id(account), .integer(2 * countMax)
    ) { row in try Chain(row: row) }
  }

  /// The accounts being deleted that own a chain in which an account has members.
  static func leavingOwners(
    _ queryable: some Queryable, seenBy account: Identifier
  ) throws -> [LeavingOwner] {
    try queryable.rows(
      """
      SELECT d.account_id, d.erase_ms FROM sync.account_deletions AS d WHERE d.account_id IN (
        SELECT owner_id FROM sync.chain_accounts
        WHERE account_id = $1 AND owner_id <> $1 AND left_ms IS NULL)
      ORDER BY d.account_id
      """, .id(account)
    ) { row in LeavingOwner(try row.id(0), erases: try row.optionalInstant(1)) }
  }

  /// The chains that an account owns, in the order of their ids.
  static func all(_ queryable: some Queryable, of owner: Identifier) throws -> [Chain] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.chains AS c WHERE c.owner_id = $1 AND c.purge_ms IS NULL
      ORDER BY c.id LIMIT $2
      """, .id(owner), .integer(countMax)
    ) { row in try Chain(row: row) }
  }

  static func find(_ queryable: some Queryable, _ id: Identifier) throws -> Chain? {
    try queryable.first(
      "SELECT \(columns) FROM sync.chains AS c WHERE c.id = $1 AND c.purge_ms IS NULL", .id(id)
    ) { row in try Chain(row: row) }
  }

  /// The account that owns a chain; nil if there is no such chain.
  package static func owner(
    _ queryable: some Queryable, of id: Identifier
  ) throws -> Identifier? {
    try find(queryable, id)?.owner
  }

  /// The members at the head: at most 256.
  package static func members(
    _ queryable: some Queryable, of id: Identifier
  ) throws -> [ChainMember] {
    try MemberRows(source: queryable, chain: id).all()
  }

  static func own(_ queryable: some Queryable, of account: Identifier) throws -> Identifier? {
    try queryable.first(
      "SELECT id FROM sync.chains WHERE owner_id = $1 AND own = 1 AND purge_ms IS NULL",
      .id(account)
    ) { row in try row.id(0) }
  }

  static func count(_ queryable: some Queryable, of owner: Identifier) throws -> Int64 {
    try queryable.first(
      "SELECT count(*) FROM sync.chains WHERE owner_id = $1 AND purge_ms IS NULL", .id(owner)
    ) { row in try row.integer(0) } ?? 0
  }

  /// Returns false if the id is taken.
  func insert(_ transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO sync.chains
        (id, owner_id, own, head_epoch, head_hash, member_count, bytes, created_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING
      """, .id(id), .id(owner), .integer(isOwn ? 1 : 0), .integer(head.epoch), .blob(head.hash),
      .integer(Int64(memberCount)), .integer(byteCount), .instant(created)) == 1
  }

  func save(_ transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE sync.chains SET head_epoch = $2, head_hash = $3, member_count = $4, bytes = $5,
        replaced_epoch = $6, replaced_hash = $7, replaced_ms = $8
      WHERE id = $1
      """, .id(id), .integer(head.epoch), .blob(head.hash), .integer(Int64(memberCount)),
      .integer(byteCount), replaced.map { .integer($0.point.epoch) } ?? .null,
      .blob(replaced?.point.hash), .instant(replaced?.at))
  }

  package var json: JSONValue { .object(members) }

  var members: [JSONValue.Member] {
    [
      .init("id", .string(id.description)), .init("owner", .string(owner.description)),
      .init("own", .bool(isOwn)), .init("created", .string(created.description)),
      .init("head", head.json), .init("member_count", .integer(Int64(memberCount))),
      .init(
        "replaced",
        replaced.map { replaced in
          [
            "epoch": .integer(replaced.point.epoch), "hash": .base64(replaced.point.hash),
            "at": .string(replaced.at.description),
          ]
        } ?? .null),
    ]
  }
}

extension Chain {
  fileprivate init(row: borrowing Row) throws {
    self.init(
      id: try row.id(0), owner: try row.id(1), isOwn: try row.integer(2) == 1,
      head: ChainPoint(epoch: try row.integer(3), hash: try row.blob(4)),
      memberCount: Int(try row.integer(5)), byteCount: try row.integer(6),
      created: try row.instant(7))
    if let epoch = try row.optionalInteger(8), let hash = try row.optionalBlob(9),
      let at = try row.optionalInstant(10)
    {
      replaced = Replaced(point: ChainPoint(epoch: epoch, hash: hash), at: at)
    }
  }
}
