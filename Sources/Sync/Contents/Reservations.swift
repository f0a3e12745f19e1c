import Accounts
import Base
import Crypto
import HTTPSignatures
import Requests
import Storage
import Tiers

/// Protects objects between their first byte and the transaction that makes them visible.
///
/// A reservation ends with its upload. If the process ends first, `settle` removes it: at the next
/// start, or in another process that uses the same object store.
enum Reservations {
  /// Longer than the slowest upload of the largest content that the server accepts.
  static let lifetime = Instant.Span.hours(4)
  /// The most uploads under way for one owner.
  static let countMax = 16

  /// Reserves room for an upload before its first byte, and protects its object until it is visible.
  ///
  /// A client that got no response sends the same request again (`Contents.Write.identity`). While the
  /// earlier attempt makes progress, the repeat waits (nil), because it must return the same recorded
  /// response. If the earlier attempt is dead, stands still, or `isLast` is set, the repeat replaces it. The
  /// owner's room is reserved once for both.
  static func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, catalogue: Catalogue,
    isLast: Bool, isMoving: (_ object: Identifier, _ instance: Identifier?) -> Bool,
    instance: Identifier, now: Instant
  ) throws -> ContentUpload.Reception? {
    let write = asked.write
    let locked = try LockedDocument(transaction, write, now: now)
    // Checked under the lock: the earlier attempt is either recorded or reserved.
    if let outcome = try Nonces.recorded(transaction, write.credentials) {
      return .repeated(asked, outcome)
    }
    let earlier = try earlier(transaction, locked.caller, write.identity)
    if let earlier {
      if !isLast, isMoving(earlier.object, earlier.instance) { return nil }
      try release(transaction, earlier.object)
    }
    try reserve(
      transaction, locked, write, asked.attempt.object, byteCount: asked.byteCount,
      instance: instance, until: now + lifetime, catalogue: catalogue, now: now)
    return .receive(asked, superseded: earlier?.object)
  }

  /// Returns the owner whose room it is.
  @discardableResult
  static func reserve(
    _ transaction: Transaction, _ locked: LockedDocument, _ write: Contents.Write,
    _ object: Identifier, byteCount: Int64, instance: Identifier?, until expires: Instant,
    catalogue: Catalogue, now: Instant
  ) throws -> Identifier {
    let file = try locked.document(transaction)
    let live = try transaction.rows(
      "SELECT bytes FROM sync.reservations WHERE owner_id = $1 AND expires_ms > $2",
      .id(file.owner), .instant(now)
    ) { row in try row.integer(0) }
    guard live.count < countMax else { throw Refusal.tooManyUploads(max: countMax) }
    let (owner, reserved) = (try locked.owners.require(file.owner), live.reduce(0, +))
    _ = try Replacement(
      of: file, by: byteCount, for: owner, reserved: reserved,
      askedBy: locked.caller.account, transaction, catalogue: catalogue, now: now)
    try Allowance.require(
      byteCount, reserved: reserved, of: owner, transaction, catalogue: catalogue, now: now)
    try transaction.execute(
      """
      INSERT INTO sync.reservations
        (object_id, owner_id, actor_key, bytes, expires_ms, instance_id, nonce)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      """,
      .id(object), .id(file.owner), .blob(locked.caller.publicKey),
      .integer(byteCount), .instant(expires), .id(instance), .blob(write.identity))
    return file.owner
  }

  /// The attempt at the same upload that holds a reservation.
  static func earlier(
    _ transaction: Transaction, _ caller: Caller, _ identity: [UInt8]?
  ) throws -> (object: Identifier, instance: Identifier?)? {
    guard let identity else { return nil }
    return try transaction.first(
      """
      SELECT object_id, instance_id FROM sync.reservations WHERE actor_key = $1 AND nonce = $2
      """, .blob(caller.publicKey), .blob(identity)
    ) { row in (try row.id(0), try row.optionalID(1)) }
  }

  /// Ends a reservation whose object becomes visible in this transaction.
  static func consume(
    _ transaction: Transaction, _ id: Identifier, of caller: Caller, identity: [UInt8]?,
    now: Instant
  ) throws {
    let count = try transaction.execute(
      "DELETE FROM sync.reservations WHERE object_id = $1 AND expires_ms > $2",
      .id(id), .instant(now))
    guard count == 0 else { return }
    let isSuperseded = try earlier(transaction, caller, identity) != nil
    throw isSuperseded ? Refusal.uploadSuperseded : Refusal.reservationExpired
  }

  /// Ends a reservation of an upload that will not continue. Whatever it wrote is garbage that no
  /// download can hold.
  static func release(_ transaction: Transaction, _ id: Identifier) throws {
    let ended = try transaction.first(
      "DELETE FROM sync.reservations WHERE object_id = $1 RETURNING owner_id, bytes", .id(id)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    // No row: the upload was committed after all, and its object is in use.
    guard let ended else { return }
    try Garbage.add(transaction, id, of: ended.owner, byteCount: ended.byteCount, since: nil)
  }

  /// Ends an upload that failed. Its reservation may be gone: replaced by another attempt, or expired.
  static func abandon(
    _ transaction: Transaction, _ id: Identifier, of file: Identifier, byteCount: Int64
  ) throws {
    try transaction.execute("DELETE FROM sync.reservations WHERE object_id = $1", .id(id))
    let found = try transaction.first(
      "SELECT owner_id, object_id FROM sync.files WHERE id = $1", .id(file)
    ) { row in (owner: try row.id(0), object: try row.optionalID(1)) }
    // The commit may have succeeded although its result was lost.
    guard let found, found.object != id, try !Versions.hold(id, of: file, transaction) else {
      return
    }
    try Garbage.add(transaction, id, of: found.owner, byteCount: byteCount, since: nil)
  }
}
