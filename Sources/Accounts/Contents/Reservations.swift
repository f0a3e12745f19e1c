package import Base
package import Requests
package import Storage
package import Tiers

/// Protects objects between their first byte and the transaction that makes them visible. If its program ends first,
/// the reservation ends at the next start, or by another program on the same store.
package enum Reservations {
  /// Longer than the slowest upload of the largest content that the server accepts.
  package static let lifetime = Instant.Span.hours(4)
  /// The most uploads under way for one owner; of them those of all other accounts, and those of each. So those who may
  /// write into its trees do not take all places from it or from each other.
  private static let countMax = 16
  private static let countOfOthersMax = 12
  private static let countOfOneMax = 4

  /// Decides what becomes of an upload's body; with `.receive` its object is to be reserved next. While an earlier
  /// attempt at the same upload makes progress, the repeat waits (nil), because it must return the same recorded
  /// response. If that is dead, stands still, or `isLast` is set, the repeat replaces it and takes over its room.
  static func reception(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, of caller: Caller, isLast: Bool,
    isMoving: (_ object: Identifier, _ instance: Identifier?) -> Bool
  ) throws -> ContentUpload.Reception? {
    // Checked under the lock: the earlier attempt is either recorded or reserved.
    if let outcome = try Nonces.recorded(transaction, asked.write.credentials) {
      return .repeated(asked, outcome)
    }
    let earlier = try earlier(transaction, caller, asked.write.identity)
    if let earlier {
      if !isLast, isMoving(earlier.object, earlier.instance) { return nil }
      try release(transaction, earlier.object)
    }
    return .receive(asked, superseded: earlier?.object)
  }

  /// Reserves room for an upload before its first byte, and protects its object until it is visible. `requireRoom`
  /// refuses it for want of room beside what is reserved already, in bytes. `file` is the document whose content it
  /// will be; nil for anything else. `writer` is the account that uploads it, and `actorKey` names its device or app.
  package static func reserve(
    _ transaction: Transaction, _ object: ReservedObject, of file: Identifier? = nil,
    for owner: LockedOwner, from writer: Identifier, by actorKey: [UInt8], identity: [UInt8]?,
    catalogue: Catalogue, now: Instant,
    requireRoom: (_ reserved: Int64) throws -> Void
  ) throws {
    // Apps write for the owner alone, and their keys are of no device.
    let live = try transaction.rows(
      """
      SELECT r.bytes, k.account_id
      FROM sync.reservations AS r LEFT JOIN sync.device_keys AS k ON k.public_key = r.actor_key
      WHERE r.owner_id = $1 AND r.expires_ms > $2
      """, .id(owner.account), .instant(now)
    ) { row in (byteCount: try row.integer(0), writer: try row.optionalID(1) ?? owner.account) }
    try requirePlace(for: writer, of: owner.account, beside: live.map(\.writer))
    let reserved = live.reduce(0) { $0 + $1.byteCount }
    try requireRoom(reserved)
    try Allowance.require(
      object.byteCount, reserved: reserved, of: owner, transaction, catalogue: catalogue, now: now)
    try transaction.execute(
      """
      INSERT INTO sync.reservations
        (object_id, owner_id, actor_key, bytes, expires_ms, instance_id, nonce, file_id)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      """,
      .id(object.id), .id(owner.account), .blob(actorKey), .integer(object.byteCount),
      .instant(object.expires), .id(object.instance), .blob(identity), .id(file))
  }

  /// Refuses one more upload of a writer beside those of others for the same owner.
  private static func requirePlace(
    for writer: Identifier, of owner: Identifier, beside others: [Identifier]
  ) throws(ContentRefusal) {
    guard others.count < countMax else { throw .tooManyUploads(max: countMax) }
    guard writer != owner else { return }
    guard others.count(where: { $0 == writer }) < countOfOneMax else {
      throw .tooManyUploads(max: countOfOneMax)
    }
    guard others.count(where: { $0 != owner }) < countOfOthersMax else {
      throw .tooManyUploads(max: countOfOthersMax)
    }
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

  /// Ends a reservation whose object becomes visible in this transaction. Returns false if it has ended before.
  package static func consume(
    _ transaction: Transaction, _ id: Identifier, now: Instant
  ) throws -> Bool {
    try transaction.execute(
      "DELETE FROM sync.reservations WHERE object_id = $1 AND expires_ms > $2",
      .id(id), .instant(now)) > 0
  }

  /// The same, for an upload that its caller may have repeated.
  package static func consume(
    _ transaction: Transaction, _ id: Identifier, of caller: Caller, identity: [UInt8]?,
    now: Instant
  ) throws {
    guard try !consume(transaction, id, now: now) else { return }
    let isSuperseded = try earlier(transaction, caller, identity) != nil
    throw isSuperseded ? ContentRefusal.uploadSuperseded : ContentRefusal.reservationExpired
  }

  /// Ends a reservation of an upload that will not continue, whose object is garbage. Returns false if there is none.
  /// One that expires after `moment` stays, because its upload has made progress.
  @discardableResult
  package static func release(
    _ transaction: Transaction, _ id: Identifier, expiredAt moment: Instant = .distantFuture
  ) throws -> Bool {
    let ended = try transaction.first(
      """
      DELETE FROM sync.reservations WHERE object_id = $1 AND expires_ms <= $2
      RETURNING owner_id, bytes
      """, .id(id), .instant(moment)
    ) { row in (owner: try row.id(0), byteCount: try row.integer(1)) }
    guard let ended else { return false }
    try Garbage.add(transaction, id, of: ended.owner, byteCount: ended.byteCount, since: nil)
    return true
  }

  /// Ends an upload that failed. If its reservation is gone, `owner` is asked whose garbage the object is: nil if it
  /// is in use, or if what it was for is gone. It is asked last, because a commit whose result was lost may still be
  /// under way, and the reservation's row is waited for.
  package static func abandon(
    _ transaction: Transaction, _ id: Identifier, byteCount: Int64,
    of owner: () throws -> Identifier?
  ) throws {
    guard try !release(transaction, id), let found = try owner() else { return }
    try Garbage.add(transaction, id, of: found, byteCount: byteCount, since: nil)
  }
}
