package import Base
import HTTPMessages
package import JSON
import Requests
package import Storage

/// What other accounts can see of an account: its username, and the keys that sign for it with their statements, so
/// that a reader can follow the chain to the account's first key. Recovery keys in a chain are included. So are
/// revoked keys if they are asked for, because what they signed stays signed.
package enum Directory {
  package enum Question: Sendable {
    case username(Username)
    case account(Identifier)
    case key([UInt8])

    /// Reads one of `username`, `account` and `key` (in URL-safe base64); other names are ignored.
    package init(query: Substring?) throws(AccountRefusal) {
      let fields = queryFields(query).filter { ["username", "account", "key"].contains($0.name) }
      guard fields.count == 1, let question = Self.read(fields[0].name, fields[0].value) else {
        throw .queryInvalid
      }
      self = question
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

  package static func answer(_ reader: Reader, _ question: Question) throws -> JSONValue {
    let account: Account?
    var revoked: [Device] = []
    switch question {
    case .username(let username): account = try Account.find(reader, username)
    case .account(let id): account = try Account.find(reader, id)
    case .key(let key):
      let found = try Device.find(reader, key)
      account = try found.flatMap { try Account.find(reader, $0.account) }
      if let device = found?.device, device.revoked != nil { revoked = [device] }
    }
    guard let account else { throw AccountRefusal.accountNotFound }
    let devices = try Device.list(reader, of: account.id) + revoked
    return [
      "account": .string(account.id.description),
      "username": account.username.map { .string($0) } ?? .null,
      "keys": .array(devices.map(\.publicJSON)),
      "recovery_keys": .array(
        try RecoveryKey.inChains(reader, of: account.id).map(\.json)),
    ]
  }
}
