internal import Base
internal import Crypto
internal import HTTPSignatures
internal import Storage

/// An account's key, checked against the database.
struct Caller: Sendable {
  let account: Identifier
  let publicKey: [UInt8]

  /// Throws where the key is unknown or revoked, or the session over.
  init(_ queryable: some Queryable, _ credentials: Credentials, now: Instant) throws {
    switch credentials {
    case .signed(let signature):
      self = try Self.ofKey(queryable, signature.keyID.bytes, unknown: .unknownKey)
    case .session(let tokenHash):
      let key = try queryable.first(
        "SELECT public_key FROM sync.sessions WHERE token_hash = $1 AND expires_ms > $2",
        .blob(tokenHash), .instant(now)
      ) { row in try row.blob(0) }
      guard let key else { throw Refusal.unknownSession }
      self = try Self.ofKey(queryable, key, unknown: .unknownSession)
    }
  }

  private init(account: Identifier, publicKey: [UInt8]) {
    self.account = account
    self.publicKey = publicKey
  }

  private static func ofKey(
    _ queryable: some Queryable, _ publicKey: [UInt8], unknown: Refusal
  ) throws -> Caller {
    let found = try queryable.first(
      "SELECT account_id, revoked_ms FROM sync.device_keys WHERE public_key = $1",
      .blob(publicKey)
    ) { row in (try row.id(0), try row.optionalInteger(1)) }
    guard let (account, revoked) = found else { throw unknown }
    guard revoked == nil else { throw Refusal.revokedKey }
    return Caller(account: account, publicKey: publicKey)
  }
}

/// A caller whose account row this transaction holds: nothing of the account changes beside it.
///
/// The row's UPDATE is the lock on both engines (there is no shared SELECT … FOR UPDATE). What was
/// read before the lock is read again after it, because on PostgreSQL it may have changed while
/// waiting.
struct LockedCaller {
  let caller: Caller
  var owner: LockedOwner

  init(_ transaction: Transaction, _ credentials: Credentials, now: Instant) throws {
    let before = try Caller(transaction, credentials, now: now)
    owner = try LockedOwner(transaction, before.account)
    caller = try Caller(transaction, credentials, now: now)
  }
}

/// An account row under lock, with its sequence and usage.
struct LockedOwner {
  let account: Identifier
  private(set) var sequence: Int64
  private(set) var usageByteCount: Int64

  init(_ transaction: Transaction, _ account: Identifier) throws {
    let row = try transaction.first(
      "UPDATE sync.accounts SET seq = seq WHERE id = $1 RETURNING seq, usage_bytes",
      .id(account)
    ) { row in (try row.integer(0), try row.integer(1)) }
    guard let row else { throw Refusal.unknownKey }
    self.account = account
    (sequence, usageByteCount) = row
  }

  /// The number of the next changed record.
  mutating func nextSequence() -> Int64 {
    sequence += 1
    return sequence
  }

  /// Adds to the ledger and to the total; `save` writes the total.
  mutating func charge(
    _ transaction: Transaction, _ delta: Int64, reason: UsageReason, file: Identifier,
    sequence: Int64, now: Instant
  ) throws {
    usageByteCount += delta
    try transaction.execute(
      """
      INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      """,
      .id(account), .integer(sequence), .integer(delta), .text(reason.rawValue), .id(file),
      .instant(now))
  }

  func save(_ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.accounts SET seq = $2, usage_bytes = $3 WHERE id = $1",
      .id(account), .integer(sequence), .integer(usageByteCount))
  }
}
