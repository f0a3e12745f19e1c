package import Accounts
package import Base
import Crypto
package import JSON
import Requests
package import Storage
import Tiers

/// An account that moves from one Coffer to another: its row, and its keys with their signatures of each other.
package struct MovedAccount: Sendable {
  package let id: Identifier
  package let username: Username?
  package let root: Identifier
  /// The number of its latest change.
  package let sequence: Int64
  private let created: Instant
  package let devices: [Device]
  /// Those that let devices in. They end with the move.
  private let recoveryKeys: [RecoveryKey]

  /// Nil if there is no such account.
  package init?(_ reader: Reader, _ id: Identifier) throws {
    let row = try reader.first(
      "SELECT username_shown, root_id, seq, created_ms FROM sync.accounts WHERE id = $1", .id(id)
    ) { row in
      (try row.optionalText(0), try row.id(1), try row.integer(2), try row.instant(3))
    }
    guard let row else { return nil }
    self.id = id
    username = row.0.flatMap { Username($0) }
    (root, sequence, created) = (row.1, row.2, row.3)
    devices = try Device.listAll(reader, of: id)
    recoveryKeys = try RecoveryKey.inChains(reader, of: id)
  }

  /// When the account began, and when its keys came and went.
  package var moments: [Instant] {
    [created] + devices.flatMap { [$0.added, $0.revoked ?? $0.added] } + recoveryKeys.map(\.named)
  }

  package var isProven: Bool { Device.prove(id, devices, recoveryKeys) }

  package var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("account", .string(id.description)),
      .init("username", username.map { .string($0.shown) } ?? .null),
      .init("root", .string(root.description)), .init("version", .integer(sequence)),
      .init("created_ms", .integer(created.milliseconds)),
      .init("keys", .array(devices.map(\.movedJSON))),
    ]
    if !recoveryKeys.isEmpty {
      members.append(.init("recovery_keys", .array(recoveryKeys.map(\.movedJSON))))
    }
    return .object(members)
  }

  /// Reads what `json` wrote, and checks that other keys authorized each key.
  package init(_ json: JSON) throws(MovingError) {
    do throws(RequestRefusal) {
      try json.requireMembers([
        "account", "username", "root", "version", "created_ms", "keys", "recovery_keys",
      ])
      let id = try json["account"].identifier()
      self.id = id
      root = try json["root"].identifier()
      sequence = try json["version"].number(in: 0...Int64.max / 2)
      created = try json["created_ms"].moment()
      username = try json["username"].optional { (json) throws(RequestRefusal) in
        guard let username = json.string.flatMap({ Username($0) }) else {
          throw .bodyInvalid(path: json.path, rule: "must be a username")
        }
        return username
      }
      guard let keys = json["keys"].array, 1...Device.countInAllMax ~= keys.count else {
        throw .bodyInvalid(path: json["keys"].path, rule: "must be a list of keys")
      }
      devices = try keys.map { (json) throws(RequestRefusal) in
        try Device(moved: json, of: id)
      }
      let recovered = try json["recovery_keys"].optionalArray()
      guard recovered.count <= Device.countInAllMax else {
        throw .bodyInvalid(path: json["recovery_keys"].path, rule: "must be a list of keys")
      }
      recoveryKeys = try recovered.map { (json) throws(RequestRefusal) in
        try RecoveryKey(moved: json, of: id)
      }
    } catch { throw MovingError(error) }
  }

  /// The reason why the account cannot be imported; nil if it can.
  package func obstacle(reading database: some Queryable) throws -> String? {
    if try Account.find(database, id) != nil { return "there is an account \(id) already" }
    // The record of its deletion stays, and would count for the account that arrives.
    if try Departure.find(id, reading: database) != nil {
      return "the account \(id) was erased here"
    }
    if let username, try Account.find(database, username) != nil {
      return "there is an account with the username \(username.shown) already"
    }
    for device in devices
    where try Device.find(database, device.publicKey) != nil
      || RecoveryKey.find(database, device.publicKey) != nil
    {
      return "a key of the account is another account's already"
    }
    for device in devices where try Device.hasRemains(database, device.publicKey) {
      return "a key of the account was that of an erased account, of which something is left"
    }
    return nil
  }

  /// Writes the account and its keys. `MovedTree` writes the usage of its files.
  package func insert(at now: Instant, in transaction: Transaction) throws {
    if let obstacle = try obstacle(reading: transaction) { throw MovingError(obstacle) }
    try transaction.execute(
      """
      INSERT INTO sync.accounts
        (id, username, username_shown, root_id, seq, usage_bytes, created_ms)
      VALUES ($1, $2, $3, $4, $5, 0, $6)
      """, .id(id), .text(username?.normalized), .text(username?.shown), .id(root),
      .integer(sequence), .instant(created))
    for device in devices where try !device.insert(transaction, of: id, now: now) {
      throw MovingError("a key of the account comes twice")
    }
    for key in recoveryKeys { _ = try key.insert(transaction, ended: now) }
  }
}

/// Why an archive is refused, in one sentence.
package struct MovingError: Error, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }

  /// A law that an archive breaks.
  init(_ law: TreeFinding.Law, _ file: Identifier) {
    precondition(TreeFinding.Law.ofArchives.contains(law), "no archive can break \(law)")
    description = "the file \(file) breaks the rule \(law.rawValue): \(law.text)"
  }

  init(_ refusal: RequestRefusal) {
    if case .bodyInvalid(let errors) = refusal, let first = errors.first {
      description = "\(first.path) \(first.rule)"
    } else {
      description = "it is not readable"
    }
  }
}
