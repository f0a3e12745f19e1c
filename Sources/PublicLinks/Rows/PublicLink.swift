package import Accounts
package import Base
import JSON
package import Storage

extension News.Topic {
  /// Public links: what `GET /v1/public` lists.
  static let links = News.Topic("links")
}

/// A content that an account has published for whoever has the link.
package struct PublicLink: Sendable {
  package let owner: Identifier
  /// The owner's own name for it.
  package let id: Identifier
  /// Rises with each content of the link.
  package let version: Int64
  let object: Identifier
  package let byteCount: Int64
  package let cacheSeconds: Int64
  package let created: Instant
  /// When it ends; nil: not by itself.
  package let expires: Instant?

  /// The most links of one account.
  package static let countMax: Int64 = 1000

  private static let columns =
    "l.owner_id, l.id, l.version, l.object_id, l.content_bytes, l.cache_seconds, l.created_ms, "
    + "l.expires_ms"

  private init(row: borrowing Row) throws {
    owner = try row.id(0)
    id = try row.id(1)
    version = try row.integer(2)
    object = try row.id(3)
    byteCount = try row.integer(4)
    cacheSeconds = try row.integer(5)
    created = try row.instant(6)
    expires = try row.optionalInstant(7)
  }

  package static func find(
    _ queryable: some Queryable, _ id: Identifier, of owner: Identifier
  ) throws -> PublicLink? {
    try queryable.first(
      "SELECT \(columns) FROM sync.public_links AS l WHERE l.owner_id = $1 AND l.id = $2",
      .id(owner), .id(id)
    ) { row in try PublicLink(row: row) }
  }

  /// The link of a token, also one that has ended and is not deleted yet.
  package static func find(
    _ queryable: some Queryable, _ token: LinkToken
  ) throws -> PublicLink? {
    try queryable.first(
      "SELECT \(columns) FROM sync.public_links AS l WHERE l.token_hash = $1", .blob(token.hash)
    ) { row in try PublicLink(row: row) }
  }

  /// The link that strangers get for a token; nil if there is none, it has ended, or its owner is suspended.
  static func served(_ reader: Reader, _ hash: [UInt8], now: Instant) throws -> PublicLink? {
    try reader.first(
      """
      SELECT \(columns) FROM sync.public_links AS l JOIN sync.accounts AS a ON a.id = l.owner_id
      WHERE l.token_hash = $1 AND (l.expires_ms IS NULL OR l.expires_ms > $2)
        AND a.suspended_ms IS NULL
      """, .blob(hash), .instant(now)
    ) { row in try PublicLink(row: row) }
  }

  /// An account's links in the order of their ids, after an id; at most `limit`.
  package static func list(
    _ queryable: some Queryable, of owner: Identifier, after id: Identifier?, limit: Int
  ) throws -> [PublicLink] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.public_links AS l WHERE l.owner_id = $1 AND l.id > $2
      ORDER BY l.id LIMIT $3
      """, .id(owner), id.map { SQLValue.id($0) } ?? .blob([]), .integer(Int64(limit))
    ) { row in try PublicLink(row: row) }
  }

  /// What an account's links add up to; at most `countMax` rows.
  package static func weight(
    _ queryable: some Queryable, of owner: Identifier
  ) throws -> UsageWeight {
    try queryable.first(
      """
      SELECT count(*), CAST(coalesce(sum(content_bytes), 0) AS BIGINT) FROM sync.public_links
      WHERE owner_id = $1
      """, .id(owner)
    ) { row in
      UsageWeight(recordCount: try row.integer(0), contentByteCount: try row.integer(1))
    } ?? UsageWeight()
  }

  /// The account's links that have ended, at most `limit`.
  static func ended(
    _ transaction: Transaction, of owner: Identifier, limit: Int, now: Instant
  ) throws -> [PublicLink] {
    try transaction.rows(
      """
      SELECT \(columns) FROM sync.public_links AS l WHERE l.owner_id = $1 AND l.expires_ms <= $2
      ORDER BY l.expires_ms LIMIT $3
      """, .id(owner), .instant(now), .integer(Int64(limit))
    ) { row in try PublicLink(row: row) }
  }
}

extension PublicLink {
  var content: StoredContent {
    StoredContent(owner: owner, version: version, byteCount: byteCount, place: .object(object))
  }

  /// Whether it is over. It is listed until it is deleted.
  func hasEnded(_ now: Instant) -> Bool { expires.map { $0 <= now } ?? false }

  /// What a cache may do with the ciphertext. A copy is not used after the link has ended.
  func caching(_ now: Instant) -> String {
    let left = expires.map { max(0, ($0.milliseconds - now.milliseconds) / 1000) } ?? .max
    let seconds = min(cacheSeconds, left)
    return seconds == 0 ? "no-store" : "public, max-age=\(seconds)"
  }

  /// What its owner sees. The token is told once, when it is made.
  func members(_ token: LinkToken?) -> [JSONValue.Member] {
    listedMembers + [.init("token", token.map { .string($0.text) } ?? .null)]
  }

  var listedMembers: [JSONValue.Member] {
    [
      .init("id", .string(id.description)), .init("version", .integer(version)),
      .init("bytes", .integer(byteCount)), .init("max_age", .integer(cacheSeconds)),
      .init("created", .string(created.description)),
      .init("expires", expires.map { .string($0.description) } ?? .null),
    ]
  }
}
