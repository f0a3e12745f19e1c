package import Base
package import Crypto
package import JSON
package import Requests

/// A device's statement about a key: that it belongs to the account, no longer does, or may recover it. It is stored
/// as signed, so that readers can follow a key to the account's first one without trusting the server.
package struct KeyStatement: Sendable {
  package enum Subject: String, Sendable { case device, revocation, recovery }

  package let subject: Subject
  package let account: Identifier
  package let key: [UInt8]
  /// Seconds since 1970, by the clock of the device that signs the statement.
  package let created: Int64
  /// Of a recovery key: for how many days devices can refuse what it asks for. Nil for other keys.
  package let delayDays: Int64?

  /// The oldest a statement may be on arrival. A new device's may have waited to be carried over.
  static let ageMax = Instant.Span.days(1)
  /// The end of the year 9999; canonical JSON has no integers beyond 2^53.
  private static let createdMax: Int64 = 253_402_300_799
  /// How far a device's clock may be ahead.
  private static let futureSkew = Instant.Span.minutes(5)

  package init(
    _ subject: Subject, account: Identifier, key: [UInt8], created: Int64, delayDays: Int64? = nil
  ) {
    self.subject = subject
    self.account = account
    self.key = key
    self.created = created
    self.delayDays = delayDays
  }

  /// Reads the statement from the body's member that is named after its subject.
  package init(_ subject: Subject, of body: JSON) throws(RequestRefusal) {
    let json = body[subject.rawValue]
    try json.requireMembers(
      ["account", "created", "key"] + (subject == .recovery ? ["delay_days"] : []))
    self.subject = subject
    account = try json["account"].identifier()
    key = try json["key"].base64(
      byteCount: Ed25519PublicKey.byteCount...Ed25519PublicKey.byteCount)
    guard let created = json["created"].integer, 0...Self.createdMax ~= created else {
      throw .bodyInvalid(path: json["created"].path, rule: "must be whole seconds since 1970")
    }
    self.created = created
    delayDays = try subject == .recovery ? Self.delayDays(json["delay_days"]) : nil
  }

  private static func delayDays(_ json: JSON) throws(RequestRefusal) -> Int64 {
    guard let days = json.integer, 0...RecoveryKey.delayDaysMax ~= days else {
      throw .bodyInvalid(
        path: json.path, rule: "must be a number from 0 to \(RecoveryKey.delayDaysMax)")
    }
    return days
  }

  /// The bytes that are signed: RFC 8785 (JCS) of `{"device": …}`, `{"revocation": …}` or `{"recovery": …}`.
  var signed: [UInt8] {
    var members: [JSONValue.Member] = [
      .init("account", .string(account.description)), .init("created", .integer(created)),
      .init("key", .base64(key)),
    ]
    if let delayDays { members.append(.init("delay_days", .integer(delayDays))) }
    return JSONValue.object([.init(subject.rawValue, .object(members))]).canonical()
  }

  /// Reads the signature of this statement from the member `name`.
  package func signature(
    _ member: String, of body: JSON, by key: Ed25519PublicKey
  ) throws(RequestRefusal) -> [UInt8] {
    let count = Ed25519PublicKey.signatureByteCount
    let signature = try body[member].base64(byteCount: count...count)
    guard key.isValid(signature: signature, for: signed) else {
      throw .bodyInvalid(
        path: body[member].path,
        rule: "is no signature of the canonical form of \(subject.rawValue) by the key it must be")
    }
    return signature
  }

  /// Reads the member `signature`, made by the key that also signed the request.
  package func keySignature(
    of body: JSON, by author: Ed25519PublicKey
  ) throws(RequestRefusal) -> KeySignature {
    KeySignature(
      created: created, author: author.bytes,
      signature: try signature("signature", of: body, by: author))
  }

  /// Refuses a statement about another account, and one that is too old or in the future.
  package func require(account caller: Identifier, now: Instant) throws(RequestRefusal) {
    guard account == caller else {
      throw .bodyInvalid(
        path: "$.\(subject.rawValue).account",
        rule: "must be the account of the key that signs the request")
    }
    let earliest = (now - Self.ageMax).seconds
    guard earliest...(now + Self.futureSkew).seconds ~= created else {
      throw .bodyInvalid(
        path: "$.\(subject.rawValue).created", rule: "must lie within the last day")
    }
  }
}

/// A key's signature of a statement.
package struct KeySignature: Sendable {
  /// The statement's time. The statement itself is made of it, the account and the key.
  package let created: Int64
  package let author: [UInt8]
  package let signature: [UInt8]

  package init(created: Int64, author: [UInt8], signature: [UInt8]) {
    self.created = created
    self.author = author
    self.signature = signature
  }

  package var members: [JSONValue.Member] {
    [
      .init("created", .integer(created)), .init("author", .base64(author)),
      .init("signature", .base64(signature)),
    ]
  }
}
