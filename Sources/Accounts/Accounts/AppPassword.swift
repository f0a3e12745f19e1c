package import Base
import Crypto
package import JSON
package import Requests
package import Storage

/// A password for an app that has no device key: `cap-<id>-<secret>`, as such an app sends no name. The secret has
/// 130 random bits, so its hash needs neither salt nor many rounds.
package struct AppPassword: Sendable {
  /// Ten letters and digits. It is no secret.
  package let id: String
  package let label: String
  package let created: Instant
  /// The last log-in; nil if there was none.
  package let used: Instant?

  package static let labelCharacterCountMax = 64
  /// The most passwords of one account.
  package static let countMax: Int64 = 20
  /// The most tokens of one password. A new one takes the place of the one that was not used for longest.
  static let tokenCountMax: Int64 = 50

  private static let columns = "id, label, created_ms, used_ms"

  private init(row: borrowing Row) throws {
    id = try row.text(0)
    label = try row.text(1)
    created = try row.instant(2)
    used = try row.optionalInstant(3)
  }

  /// A new password, and the only copy of it.
  package struct New: Sendable {
    package let id: String
    package let password: Secret
    let label: String
    let created: Instant

    package var json: JSONValue {
      [
        "id": .string(id), "password": .string(String(decoding: password.exposed, as: UTF8.self)),
        "label": .string(label), "created": .string(created.description),
      ]
    }
  }

  /// What its account sees of a password.
  package var json: JSONValue {
    [
      "id": .string(id), "label": .string(label), "created": .string(created.description),
      "used": used.map { .string($0.description) } ?? .null,
    ]
  }

  /// Creates a password. The answer is given once: who captured the request gets no password.
  package static func create(
    _ transaction: Transaction, _ credentials: Credentials, label: String, now: Instant
  ) throws -> New {
    let signature = try credentials.requireSignature()
    let locked = try LockedCaller(transaction, credentials, now: now)
    let account = locked.caller.account
    try locked.owners.requireWritable([account], by: account, transaction)
    try Nonces.spend(transaction, signature)
    guard let new = try create(transaction, of: account, label: label, now: now) else {
      throw AccountRefusal.tooManyAppPasswords(max: Int(countMax))
    }
    return new
  }

  /// Creates a password of an account, whose row must be locked. Nil if the account has as many as it may.
  package static func create(
    _ transaction: Transaction, of account: Identifier, label: String, now: Instant
  ) throws -> New? {
    guard try list(transaction, of: account).count < countMax else { return nil }
    let text = AppPasswordText.random()
    try transaction.execute(
      """
      INSERT INTO sync.app_passwords (id, account_id, secret_hash, label, created_ms)
      VALUES ($1, $2, $3, $4, $5)
      """, .text(text.id), .id(account), .blob(text.secretHash), .text(label), .instant(now))
    return New(id: text.id, password: text.whole, label: label, created: now)
  }

  /// An account's passwords, the oldest first.
  package static func list(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [AppPassword] {
    try queryable.rows(
      """
      SELECT \(columns) FROM sync.app_passwords WHERE account_id = $1 ORDER BY created_ms, id
      """, .id(account)
    ) { row in try AppPassword(row: row) }
  }

  /// The account that has a password of this id; nil if there is none.
  package static func owner(_ queryable: some Queryable, of id: String) throws -> Identifier? {
    try queryable.first(
      "SELECT account_id FROM sync.app_passwords WHERE id = $1", .text(id)
    ) { row in try row.id(0) }
  }

  /// Revokes a password, and ends what it logged in. Nil if the account has none of that id.
  package static func revoke(
    _ transaction: Transaction, _ id: String, of account: Identifier
  ) throws -> AppPassword? {
    try transaction.execute(
      "DELETE FROM sync.app_tokens WHERE password_id = $1 AND account_id = $2", .text(id),
      .id(account))
    return try transaction.first(
      "DELETE FROM sync.app_passwords WHERE id = $1 AND account_id = $2 RETURNING \(columns)",
      .text(id), .id(account)
    ) { row in try AppPassword(row: row) }
  }

  /// The account that a password opens; nil if it opens none.
  package static func account(
    _ queryable: some Queryable, of password: AppPasswordText
  ) throws -> Identifier? {
    let found = try queryable.first(
      "SELECT account_id, secret_hash FROM sync.app_passwords WHERE id = $1", .text(password.id)
    ) { row in (account: try row.id(0), secretHash: try row.blob(1)) }
    guard let found, constantTimeEqual(found.secretHash, password.secretHash) else { return nil }
    return found.account
  }

  /// A new token for a password; nil if it opens no account. The token holds until the password is revoked.
  package static func logIn(
    _ transaction: Transaction, _ password: AppPasswordText, now: Instant
  ) throws -> Secret? {
    guard let account = try account(transaction, of: password) else { return nil }
    // The row that is held while a password is revoked.
    _ = try LockedOwners(transaction, [account])
    let isThere = try transaction.execute(
      "UPDATE sync.app_passwords SET used_ms = $2 WHERE id = $1", .text(password.id),
      .instant(now))
    guard isThere > 0 else { return nil }
    let token = Secret(Base64.url.encode(Random.bytes(32)))
    try transaction.execute(
      """
      DELETE FROM sync.app_tokens WHERE password_id = $1 AND token_hash NOT IN (
        SELECT token_hash FROM sync.app_tokens WHERE password_id = $1
        ORDER BY used_ms DESC, token_hash LIMIT $2)
      """, .text(password.id), .integer(tokenCountMax - 1))
    try transaction.execute(
      """
      INSERT INTO sync.app_tokens (token_hash, account_id, password_id, used_ms)
      VALUES ($1, $2, $3, $4)
      """, .blob(Credentials.hash(token: token.exposed)), .id(account), .text(password.id),
      .instant(now))
    return token
  }

  /// Notes that a token is in use, at most once a day.
  package static func noteUse(
    _ transaction: Transaction, ofToken hash: [UInt8], now: Instant
  ) throws {
    try transaction.execute(
      "UPDATE sync.app_tokens SET used_ms = $2 WHERE token_hash = $1 AND used_ms < $3",
      .blob(hash), .instant(now), .instant(now - .days(1)))
  }
}

/// The text of an app password, in its parts.
package struct AppPasswordText: Sendable {
  package let id: String
  fileprivate let secret: Secret

  private static let prefix = "cap"
  private static let idCharacterCount = 10
  private static let secretCharacterCount = 26
  /// Five bits each, without those that are easily mistaken for others.
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  /// Nil unless the text has the form of a password.
  package init?(_ text: String) {
    let parts = text.lowercased().split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == Self.prefix,
      parts[1].utf8.count == Self.idCharacterCount,
      parts[2].utf8.count == Self.secretCharacterCount,
      parts[1].utf8.allSatisfy(Self.alphabet.contains)
    else { return nil }
    self.init(id: String(parts[1]), secret: Secret(String(parts[2])))
  }

  private init(id: String, secret: Secret) {
    self.id = id
    self.secret = secret
  }

  fileprivate static func random() -> AppPasswordText {
    func text(_ count: Int) -> String {
      String(decoding: Random.bytes(count).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
    }
    return AppPasswordText(id: text(idCharacterCount), secret: Secret(text(secretCharacterCount)))
  }

  fileprivate var whole: Secret {
    Secret(Array("\(Self.prefix)-\(id)-".utf8) + secret.exposed)
  }

  fileprivate var secretHash: [UInt8] { SHA256.hash(secret.exposed) }
}
