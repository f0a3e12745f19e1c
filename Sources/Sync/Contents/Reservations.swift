internal import Base
internal import Crypto
internal import Storage
internal import Tiers

/// Protects objects between their first byte and the transaction that makes them visible.
enum Reservations {
  /// How long an upload may take.
  static let lifetime = Instant.Span.hours(1)
  /// Uploads under way per owner.
  static let countMax = 16

  /// Promises room and an object id to an upload, before its first byte.
  static func reserve(
    _ transaction: Transaction, _ write: Contents.Write, byteCount: Int64, catalogue: Catalogue,
    now: Instant
  ) throws -> Identifier {
    let locked = try LockedDocument(transaction, write, now: now)
    let file = try locked.document(transaction)
    let live = try transaction.rows(
      "SELECT bytes FROM sync.reservations WHERE owner_id = $1 AND expires_ms > $2",
      .id(file.owner), .instant(now)
    ) { row in try row.integer(0) }
    guard live.count < countMax else { throw Refusal.tooManyUploads(max: countMax) }
    try locked.owners.require(file.owner).requireRoom(
      for: byteCount - file.contentByteCount, reserved: live.reduce(0, +),
      askedBy: locked.caller.account, transaction, catalogue: catalogue, now: now)
    let id = Random.identifier()
    try transaction.execute(
      """
      INSERT INTO sync.reservations (object_id, owner_id, actor_key, bytes, expires_ms)
      VALUES ($1, $2, $3, $4, $5)
      """,
      .id(id), .id(file.owner), .blob(locked.caller.publicKey), .integer(byteCount),
      .instant(now + lifetime))
    return id
  }

  /// Ends a reservation whose object becomes visible in this transaction.
  static func consume(_ transaction: Transaction, _ id: Identifier, now: Instant) throws {
    let count = try transaction.execute(
      "DELETE FROM sync.reservations WHERE object_id = $1 AND expires_ms > $2",
      .id(id), .instant(now))
    guard count == 1 else { throw Refusal.reservationExpired }
  }

  /// Ends a reservation whose upload failed; what it may have written is garbage.
  static func release(_ transaction: Transaction, _ id: Identifier, now: Instant) throws {
    let count = try transaction.execute(
      "DELETE FROM sync.reservations WHERE object_id = $1", .id(id))
    // No row: the upload was committed after all, and its object is in use.
    if count == 1 { try discard(transaction, id, now: now) }
  }

  /// Hands an object that nothing points to any more to the sweeper.
  static func discard(_ transaction: Transaction, _ id: Identifier, now: Instant) throws {
    try transaction.execute(
      "INSERT INTO sync.garbage (object_id, since_ms) VALUES ($1, $2)", .id(id), .instant(now))
  }
}
