import Base
import Crypto
import HTTPMessages
import Objects
import Requests
import Storage

/// The row of a resumable upload: what its creating request asked for, and how far it is.
struct ResumableUpload: Sendable {
  /// How long an upload that makes no progress is kept, and then its final answer.
  private static let lifetime = Instant.Span.hours(24)
  /// The longest that progress keeps one. Otherwise a byte a day would hold another's room for ever.
  static let lifetimeMax = Instant.Span.days(7)
  /// The most rows that one write forgets.
  static let expiredCountMax: Int64 = 500
  /// The final answers of an account that are kept. Without a bound, uploads of a byte could leave millions in a day.
  private static let answeredCountMax: Int64 = 256

  let secretHash: [UInt8]
  let object: Identifier
  let owner: Identifier
  /// The kind of its content, and what the content is of.
  let kind: String
  let subject: Identifier
  let actorKey: [UInt8]
  /// The session of the creating request; nil if it was signed.
  let sessionHash: [UInt8]?
  let ifMatch: String
  let query: String?
  /// SHA-256 of the whole content.
  let digest: [UInt8]
  let byteCount: Int64
  let progress: Progress
  let epoch: Int64
  var expires: Instant
  /// When it expires at the latest.
  let ends: Instant
  /// The final answer, whole; nil while the upload is open.
  let outcome: Outcome?

  /// What is durable of the content.
  struct Progress: Sendable {
    let checkpoint: ObjectCheckpoint
    let hash: ResumableSHA256

    static let none = Progress(
      checkpoint: ObjectCheckpoint(byteCount: 0, state: []), hash: ResumableSHA256())
  }

  /// Names the upload among those under way, and the lane of its requests.
  var key: Identifier { Self.key(secretHash) }

  static func key(_ secretHash: [UInt8]) -> Identifier {
    Identifier(bytes: secretHash.prefix(16))!
  }

  var offset: Int64 { progress.checkpoint.byteCount }

  /// When an upload expires that makes its last progress now.
  static func expiry(_ now: Instant, ends: Instant) -> Instant { min(now + lifetime, ends) }

  static func hash(secret: String) -> [UInt8] { SHA256.hash(Array(secret.utf8)) }

  /// The request that the creating request stands for.
  func write(_ meter: RequestMeter) throws -> ContentWrite {
    let proof: Credentials.Proof =
      if let sessionHash { .session(tokenHash: sessionHash) } else { .key(actorKey) }
    return try ContentWrite(
      Credentials(proof: proof, meter: meter), subject, query: query.map { $0[...] },
      Headers([("if-match", ifMatch)]), digest: nil)
  }
}

// MARK: Statements

extension ResumableUpload {
  private static let columns = """
    secret_hash, object_id, owner_id, kind, subject_id, actor_key, session_hash, if_match, query,
    digest, bytes, durable_bytes, hash_state, store_state, epoch, expires_ms, ends_ms, status, headers,
    body
    """

  private init(_ row: borrowing Row) throws {
    secretHash = try row.blob(0)
    object = try row.id(1)
    owner = try row.id(2)
    kind = try row.text(3)
    subject = try row.id(4)
    actorKey = try row.blob(5)
    sessionHash = try row.optionalBlob(6)
    ifMatch = try row.text(7)
    query = try row.optionalText(8)
    digest = try row.blob(9)
    byteCount = try row.integer(10)
    let checkpoint = ObjectCheckpoint(byteCount: try row.integer(11), state: try row.blob(13))
    guard let hash = ResumableSHA256(try row.blob(12)) else { throw UploadRefusal.lost }
    progress = Progress(checkpoint: checkpoint, hash: hash)
    epoch = try row.integer(14)
    expires = try row.instant(15)
    ends = try row.instant(16)
    if let status = try row.optionalInteger(17), let headers = try row.optionalText(18),
      let body = try row.optionalBlob(19)
    {
      outcome = Outcome(status: status, headerText: headers, body: body)
    } else {
      outcome = nil
    }
  }

  func insert(_ transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO sync.uploads (\(Self.columns))
      VALUES (
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, NULL, NULL,
        NULL)
      """,
      .blob(secretHash), .id(object), .id(owner), .text(kind), .id(subject), .blob(actorKey),
      .blob(sessionHash), .text(ifMatch), .text(query), .blob(digest), .integer(byteCount),
      .integer(offset), .blob(progress.hash.state), .blob(progress.checkpoint.state),
      .integer(epoch), .instant(expires), .instant(ends))
  }

  /// Whether there is such an upload. A stranger's guess costs no more than this.
  static func exists(_ reader: Reader, _ secretHash: [UInt8], now: Instant) throws -> Bool {
    try reader.hasRow(
      "SELECT 1 FROM sync.uploads WHERE secret_hash = $1 AND expires_ms > $2",
      .blob(secretHash), .instant(now))
  }

  /// Takes the upload over from any older request; nil if there is no such upload.
  static func take(
    _ transaction: Transaction, _ secretHash: [UInt8], now: Instant
  ) throws -> ResumableUpload? {
    try transaction.first(
      """
      UPDATE sync.uploads SET epoch = epoch + 1 WHERE secret_hash = $1 AND expires_ms > $2
      RETURNING \(columns)
      """, .blob(secretHash), .instant(now)
    ) { row in try ResumableUpload(row) }
  }

  /// Records what is durable, which extends the upload's life. Throws if a newer request took it over.
  func save(_ transaction: Transaction, _ progress: Progress, now: Instant) throws {
    let count = try transaction.execute(
      """
      UPDATE sync.uploads SET durable_bytes = $3, hash_state = $4, store_state = $5,
        expires_ms = CASE WHEN durable_bytes < $3 THEN $6 ELSE expires_ms END
      WHERE secret_hash = $1 AND epoch = $2 AND status IS NULL AND durable_bytes <= $3
      """,
      .blob(secretHash), .integer(epoch), .integer(progress.checkpoint.byteCount),
      .blob(progress.hash.state), .blob(progress.checkpoint.state),
      .instant(Self.expiry(now, ends: ends)))
    guard count == 1 else { throw ContentRefusal.uploadSuperseded }
    try transaction.execute(
      """
      UPDATE sync.reservations SET expires_ms =
        (SELECT expires_ms FROM sync.uploads WHERE secret_hash = $2)
      WHERE object_id = $1
      """, .id(object), .blob(secretHash))
  }

  /// Records the final answer, which is kept from now on. Throws if a newer request took the upload over.
  func end(_ transaction: Transaction, with outcome: Outcome, now: Instant) throws {
    let count = try transaction.execute(
      """
      UPDATE sync.uploads SET status = $3, headers = $4, body = $5, expires_ms = $6
      WHERE secret_hash = $1 AND epoch = $2 AND status IS NULL
      """,
      .blob(secretHash), .integer(epoch), .integer(Int64(outcome.status)),
      .text(outcome.headerText), .blob(outcome.body), .instant(now + Self.lifetime))
    guard count == 1 else { throw ContentRefusal.uploadSuperseded }
  }

  static func delete(_ transaction: Transaction, of object: Identifier) throws {
    try transaction.execute("DELETE FROM sync.uploads WHERE object_id = $1", .id(object))
  }

  /// Forgets an account's oldest final answers beyond those that are kept.
  static func forgetAnswered(_ transaction: Transaction, of owner: Identifier) throws {
    try transaction.execute(
      """
      DELETE FROM sync.uploads WHERE secret_hash IN (
        SELECT secret_hash FROM sync.uploads WHERE owner_id = $1 AND status IS NOT NULL
        ORDER BY expires_ms DESC LIMIT $2 OFFSET $3)
      """, .id(owner), .integer(expiredCountMax), .integer(answeredCountMax))
  }

  /// The current epochs of uploads by the hashes of their secrets; those that are gone have none.
  static func epochs(
    _ reader: Reader, of secretHashes: [[UInt8]]
  ) throws -> [[UInt8]: Int64] {
    let found = try reader.rows(in: secretHashes.map { .blob($0) }) { list in
      "SELECT secret_hash, epoch FROM sync.uploads WHERE secret_hash IN (\(list))"
    } row: { row in
      (try row.blob(0), try row.integer(1))
    }
    return Dictionary(found) { $1 }
  }
}
