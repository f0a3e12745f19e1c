package import Base
import Crypto
import Requests
package import Storage

/// A code of an operator's that opens accounts on a server with `COFFER_REGISTRATION=invite`. The database holds its
/// hash. A code has 128 random bits, so it needs no salt, and the time of a lookup reveals nothing.
package struct Invite: Sendable {
  package let id: Identifier
  /// The operator's note.
  package let note: String
  package let useCount: Int64
  package let useCountMax: Int64
  package let created: Instant
  package let expires: Instant
  package let revoked: Instant?

  /// The longest text that is looked up.
  package static let codeCharacterCountMax = 64

  private static let columns = """
    id, note, use_count, use_count_max, created_ms, expires_ms, revoked_ms
    """

  private init(row: borrowing Row) throws {
    id = try row.id(0)
    note = try row.text(1)
    useCount = try row.integer(2)
    useCountMax = try row.integer(3)
    created = try row.instant(4)
    expires = try row.instant(5)
    revoked = try row.optionalInstant(6)
  }

  package enum State: String {
    case open, used, expired, revoked
  }

  package func state(at now: Instant) -> State {
    revoked == nil ? stateUnlessRevoked(at: now) : .revoked
  }

  /// The state that it would have if no operator had revoked it.
  package func stateUnlessRevoked(at now: Instant) -> State {
    if expires <= now { return .expired }
    return useCount < useCountMax ? .open : .used
  }

  /// Creates an invite. Returns the code, and the id that revokes it.
  package static func create(
    _ transaction: Transaction, useCountMax: Int64, expires: Instant, note: String, now: Instant
  ) throws -> (id: Identifier, code: Secret) {
    let code = Base64.url.encode(Random.bytes(16))
    let id = Random.identifier()
    try transaction.execute(
      """
      INSERT INTO sync.invites
        (id, code_hash, note, use_count, use_count_max, created_ms, expires_ms, revoked_ms)
      VALUES ($1, $2, $3, 0, $4, $5, $6, NULL)
      """,
      .id(id), .blob(hash(code)), .text(note), .integer(useCountMax), .instant(now),
      .instant(expires))
    return (id, Secret(code))
  }

  package static func find(_ queryable: some Queryable, _ id: Identifier) throws -> Invite? {
    try queryable.first("SELECT \(columns) FROM sync.invites WHERE id = $1", .id(id)) { row in
      try Invite(row: row)
    }
  }

  /// The number of invites. It counts rows, so only operators may ask for it.
  package static func count(_ queryable: some Queryable) throws -> Int64 {
    try queryable.number("SELECT count(*) FROM sync.invites")
  }

  /// Invites after `after`, newest first; at most `limit`.
  package static func list(
    _ reader: Reader, after: Invite? = nil, limit: Int
  ) throws -> [Invite] {
    try reader.rows(
      """
      SELECT \(columns) FROM sync.invites
      WHERE created_ms < $1 OR (created_ms = $1 AND id < $2)
      ORDER BY created_ms DESC, id DESC LIMIT $3
      """, .instant(after?.created ?? .distantFuture),
      .id(after?.id ?? Identifier(high: 0, low: 0)), .integer(Int64(limit))
    ) { row in try Invite(row: row) }
  }

  /// Revokes an invite and returns it. Nil if there is none of that id, or it is revoked already.
  package static func revoke(
    _ transaction: Transaction, _ id: Identifier, now: Instant
  ) throws -> Invite? {
    try transaction.first(
      """
      UPDATE sync.invites SET revoked_ms = $2 WHERE id = $1 AND revoked_ms IS NULL
      RETURNING \(columns)
      """, .id(id), .instant(now)
    ) { row in try Invite(row: row) }
  }

  /// Uses a code once. The refusal does not say why, so that a guesser learns nothing.
  package static func use(
    _ transaction: Transaction, _ code: String, now: Instant
  ) throws -> Identifier {
    let id = try transaction.first(
      """
      UPDATE sync.invites SET use_count = use_count + 1
      WHERE code_hash = $1 AND use_count < use_count_max AND expires_ms > $2
        AND revoked_ms IS NULL
      RETURNING id
      """, .blob(hash(code)), .instant(now)
    ) { row in try row.id(0) }
    guard let id else { throw AccountRefusal.inviteInvalid }
    return id
  }

  private static func hash(_ code: String) -> [UInt8] { SHA256.hash(Array(code.utf8)) }
}
