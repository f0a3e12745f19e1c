package import Base
package import Crypto
package import JSON

/// A device's signed statement about a key: that it belongs to the account, or no longer does.
package struct KeyStatement: Sendable, Equatable {
  package enum Subject: String, Sendable { case device, revocation }

  package var subject: Subject
  package var account: Identifier
  package var key: [UInt8]
  /// Seconds since 1970.
  package var created: Int64

  package init(_ subject: Subject, account: Identifier, key: [UInt8], created: Int64) {
    self.subject = subject
    self.account = account
    self.key = key
    self.created = created
  }

  package var json: JSONValue {
    [
      "account": .string(account.description), "created": .integer(created),
      "key": .string(Base64.standard.encode(key)),
    ]
  }

  /// The bytes that are signed.
  package var signedBytes: [UInt8] {
    JSONValue.object([.init(subject.rawValue, json)]).canonical()
  }

  package func signature(by key: Ed25519PrivateKey) -> JSONValue {
    .string(Base64.standard.encode(key.signature(for: signedBytes)))
  }
}

extension TestDevice {
  package func state(
    _ subject: KeyStatement.Subject, _ key: [UInt8]
  ) throws -> KeyStatement {
    KeyStatement(subject, account: try account, key: key, created: now().seconds)
  }

  /// Lets another device act for this device's account; both sign.
  package func admit(_ other: TestDevice, label: String? = nil) throws -> Answer {
    try post("/v1/devices", admission(of: other.key, label: label))
  }

  package func admission(of key: Ed25519PrivateKey, label: String? = nil) throws -> JSONValue {
    let statement = try state(.device, key.publicKey.bytes)
    return [
      "device": statement.json, "label": label.map { .string($0) } ?? .null,
      "proof": statement.signature(by: key), "signature": statement.signature(by: self.key),
    ]
  }

  package func revoke(key: [UInt8]) throws -> Answer {
    let statement = try state(.revocation, key)
    return try post(
      "/v1/revocations",
      ["revocation": statement.json, "signature": statement.signature(by: self.key)])
  }
}
