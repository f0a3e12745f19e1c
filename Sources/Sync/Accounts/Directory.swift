internal import Base
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Storage

/// Who an account is to others: its name, and which keys sign for it.
///
/// What lets a user invite another, and a reader know whose signature a record carries. Revoked keys
/// are told, too: what they signed before stays signed.
enum Directory {
  enum Question: Sendable {
    case username(Username)
    case account(Identifier)
    case key([UInt8])

    /// One of `username`, `account` and `key` (in URL-safe base64); other names are ignored.
    init(query: Substring?) throws(Refusal) {
      var questions: [Question] = []
      for (name, value) in queryFields(query) {
        guard ["username", "account", "key"].contains(name) else { continue }
        guard let question = Self.read(name, value) else { throw .queryInvalid }
        questions.append(question)
      }
      guard questions.count == 1 else { throw .queryInvalid }
      self = questions[0]
    }

    private static func read(_ name: Substring, _ value: String) -> Question? {
      switch name {
      case "username": return Username(value).map { .username($0) }
      case "account": return Identifier(value).map { .account($0) }
      default:
        guard let key = Base64.url.decode(value), key.count == 32 else { return nil }
        return .key(key)
      }
    }
  }

  static func answer(_ reader: Reader, _ question: Question) throws -> JSONValue {
    guard let account = try find(reader, question) else { throw Refusal.accountNotFound }
    return [
      "account": .string(account.id.description),
      "username": account.username.map { .string($0) } ?? .null,
      "keys": .array(
        try Device.list(reader, of: account.id).map { device in
          [
            "public_key": .base64(device.publicKey), "added": .string(device.added.description),
            "revoked": device.revoked.map { .string($0.description) } ?? .null,
          ]
        }),
    ]
  }

  private static func find(_ reader: Reader, _ question: Question) throws -> Account? {
    switch question {
    case .username(let username): return try Account.find(reader, username)
    case .account(let id): return try Account.find(reader, id)
    case .key(let key):
      let owner = try reader.first(
        "SELECT account_id FROM sync.device_keys WHERE public_key = $1", .blob(key)
      ) { row in try row.id(0) }
      return try owner.flatMap { try Account.find(reader, $0) }
    }
  }
}

extension SyncAPI {
  /// `GET /v1/directory?username=…`: another account's id and keys, by its name, its id or a key.
  var readDirectory: Route {
    read("/v1/directory") { reader, request, now in
      _ = try Caller(reader, request.credentials, now: now)
      return try Directory.answer(reader, Directory.Question(query: request.head.query))
    } respond: { json, _ in
      .json(200, json)
    }
  }
}
