package import Accounts
package import Base
import Crypto
import JSON
import Requests
import Storage

extension Device {
  var movedJSON: JSONValue {
    guard case .object(let members) = publicJSON else { preconditionFailure("a key has members") }
    return .object(
      members + [
        .init("label", .string(label)), .init("added_ms", .integer(added.milliseconds)),
        .init("revoked_ms", revoked.map { .integer($0.milliseconds) } ?? .null),
      ])
  }

  /// Reads what `movedJSON` wrote and checks the signatures.
  init(moved json: JSON, of account: Identifier) throws(RequestRefusal) {
    let count = Ed25519PublicKey.byteCount
    try json.requireMembers([
      "public_key", "added", "revoked", "device", "revocation", "label", "added_ms", "revoked_ms",
      "by_operator",
    ])
    let bytes = try json["public_key"].base64(byteCount: count...count)
    let key = try Self.key(bytes, json["public_key"])
    guard
      let label = try json["label"].optionalText(characterCountMax: Self.labelCharacterCountMax)
    else { throw .bodyInvalid(path: json["label"].path, rule: "must be a short text") }
    let statement = try json["device"].optional { (json) throws(RequestRefusal) in
      let signed = KeyStatement(.device, account: account, key: bytes, created: try json.created())
      return Statement(
        author: try signed.keySignature(of: json, by: try Self.author(json)),
        proof: try signed.signature("proof", of: json, by: key))
    }
    let revocation = try json["revocation"].optional { (json) throws(RequestRefusal) in
      try KeyStatement(.revocation, account: account, key: bytes, created: try json.created())
        .keySignature(of: json, by: try Self.author(json))
    }
    self.init(
      publicKey: bytes, label: label,
      added: try json["added_ms"].moment(),
      revoked: try json["revoked_ms"].optional { (json) throws(RequestRefusal) in
        try json.moment()
      }, statement: statement, isByOperator: json["by_operator"].bool ?? false,
      revocation: revocation)
  }

  fileprivate static func author(_ json: JSON) throws(RequestRefusal) -> Ed25519PublicKey {
    let count = Ed25519PublicKey.byteCount
    return try key(try json["author"].base64(byteCount: count...count), json["author"])
  }

  fileprivate static func key(
    _ bytes: [UInt8], _ json: JSON
  ) throws(RequestRefusal) -> Ed25519PublicKey {
    guard let key = Ed25519PublicKey(bytes: bytes) else {
      throw .bodyInvalid(path: json.path, rule: "must be an Ed25519 key")
    }
    return key
  }

  /// Whether an account's keys prove its id: the id is made of one of them, and that key authorized
  /// all others, directly or through others. An operator can choose an id and add keys; only the
  /// server vouches for those. A recovery key that one of them named may have authorized some, too.
  package static func prove(
    _ account: Identifier, _ devices: [Device], _ recoveryKeys: [RecoveryKey]
  ) -> Bool {
    var proven = Set(
      devices.map(\.publicKey).filter { Account.identifier(firstKey: $0) == account })
    var rest = devices.filter { !proven.contains($0.publicKey) }
    while !rest.isEmpty {
      let authors = proven.union(
        recoveryKeys.filter { proven.contains($0.author.author) }.map(\.publicKey))
      let (admitted, others) = rest.reduce(into: ([Device](), [Device]())) { parts, device in
        if let author = device.statement?.author.author, authors.contains(author) {
          parts.0.append(device)
        } else {
          parts.1.append(device)
        }
      }
      guard !admitted.isEmpty else { return false }
      proven.formUnion(admitted.map(\.publicKey))
      rest = others
    }
    return !proven.isEmpty
  }
}

extension RecoveryKey {
  var movedJSON: JSONValue {
    guard case .object(let members) = json else { preconditionFailure("a key has members") }
    return .object(members + [.init("named_ms", .integer(named.milliseconds))])
  }

  /// Reads what `movedJSON` wrote and checks the signatures.
  init(moved json: JSON, of account: Identifier) throws(RequestRefusal) {
    let count = Ed25519PublicKey.byteCount
    try json.requireMembers(["public_key", "named", "recovery", "named_ms"])
    let bytes = try json["public_key"].base64(byteCount: count...count)
    let stated = json["recovery"]
    let days = try stated["delay_days"].number(in: 0...Self.delayDaysMax)
    let signed = KeyStatement(
      .recovery, account: account, key: bytes, created: try stated.created(), delayDays: days)
    self.init(
      account: account, publicKey: bytes, delayDays: days, named: try json["named_ms"].moment(),
      author: try signed.keySignature(of: stated, by: try Device.author(stated)),
      proof: try signed.signature(
        "proof", of: stated, by: try Device.key(bytes, json["public_key"])))
  }
}

extension JSON {
  fileprivate func created() throws(RequestRefusal) -> Int64 {
    try self["created"].number(in: 0...253_402_300_799)
  }

  /// A time that a clock can show, in the years 1970 to 9999.
  func moment() throws(RequestRefusal) -> Instant {
    Instant(milliseconds: try number(in: 0...253_402_300_799_999))
  }

  func number(
    in range: ClosedRange<Int64> = Int64.min...Int64.max
  ) throws(RequestRefusal) -> Int64 {
    guard let integer, range.contains(integer) else {
      throw .bodyInvalid(path: path, rule: "must be a number that can be")
    }
    return integer
  }

  /// Nil for null.
  func optional<Value>(
    _ read: (JSON) throws(RequestRefusal) -> Value
  ) throws(RequestRefusal) -> Value? {
    isNull ? nil : try read(self)
  }
}
