package import Base
package import Crypto
package import JSON

/// A device's signed statement about a file. The members are those that the server accepts.
package struct FileStatement: Sendable, Equatable {
  package struct Name: Sendable, Hashable {
    package var ciphertext: [UInt8]
    package var hmac: [UInt8]

    package init(ciphertext: [UInt8] = Random.bytes(24), hmac: [UInt8] = Random.bytes(32)) {
      self.ciphertext = ciphertext
      self.hmac = hmac
    }
  }

  package var id: Identifier
  package var owner: Identifier
  package var parent: Identifier
  package var type: String
  package var name: Name
  package var key: [UInt8]
  package var deleted: Bool
  package var target: Identifier?

  package init(
    id: Identifier = Random.identifier(), owner: Identifier, parent: Identifier,
    type: String = "document", name: Name = Name(), key: [UInt8] = Random.bytes(40),
    deleted: Bool = false, target: Identifier? = nil
  ) {
    self.id = id
    self.owner = owner
    self.parent = parent
    self.type = type
    self.name = name
    self.key = key
    self.deleted = deleted
    self.target = target
  }

  package var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("id", .string(id.description)), .init("owner", .string(owner.description)),
      .init("parent", .string(parent.description)), .init("type", .string(type)),
      .init(
        "name",
        [
          "ciphertext": .string(Base64.standard.encode(name.ciphertext)),
          "hmac": .string(Base64.standard.encode(name.hmac)),
        ]),
      .init("key", .string(Base64.standard.encode(key))), .init("deleted", .bool(deleted)),
    ]
    if let target { members.append(.init("target", .string(target.description))) }
    return .object(members)
  }

  /// The bytes that the author signs.
  package var signedBytes: [UInt8] { JSONValue.object([.init("file", json)]).canonical() }
}

/// A device's signed statement about a share.
package struct ShareStatement: Sendable, Equatable {
  package enum State: Sendable, Equatable {
    case granted(mode: String, key: [UInt8])
    case revoked
    case rejected
  }

  package var file: Identifier
  package var account: Identifier
  package var state: State

  package init(file: Identifier, account: Identifier, state: State) {
    self.file = file
    self.account = account
    self.state = state
  }

  package var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("file", .string(file.description)), .init("account", .string(account.description)),
    ]
    switch state {
    case .granted(let mode, let key):
      members += [
        .init("state", "granted"), .init("mode", .string(mode)),
        .init("key", .string(Base64.standard.encode(key))),
      ]
    case .revoked: members.append(.init("state", "revoked"))
    case .rejected: members.append(.init("state", "rejected"))
    }
    return .object(members)
  }

  /// The bytes that the author signs.
  package var signedBytes: [UInt8] { JSONValue.object([.init("share", json)]).canonical() }
}

/// One file's change, as in a batch.
package struct FileChange: Sendable {
  package enum Expectation: Sendable, Equatable {
    case new
    case at(parent: Identifier, hmac: [UInt8])
  }

  package var expect: Expectation
  package var file: FileStatement
  /// Sent instead of the device's own signature.
  package var signature: [UInt8]?

  package init(expect: Expectation = .new, _ file: FileStatement, signature: [UInt8]? = nil) {
    self.expect = expect
    self.file = file
    self.signature = signature
  }

  package func json(signedBy key: Ed25519PrivateKey) -> JSONValue {
    let expect: JSONValue =
      switch expect {
      case .new: "new"
      case .at(let parent, let hmac):
        [
          "parent": .string(parent.description), "hmac": .string(Base64.standard.encode(hmac)),
        ]
      }
    let signature = signature ?? key.signature(for: file.signedBytes)
    return [
      "expect": expect, "file": file.json,
      "signature": .string(Base64.standard.encode(signature)),
    ]
  }
}

/// One share's change, as in a batch.
package struct ShareChange: Sendable {
  /// `new`, or the state that the client expects.
  package var expect: String
  package var share: ShareStatement
  /// Sent instead of the device's own signature.
  package var signature: [UInt8]?

  package init(expect: String, _ share: ShareStatement, signature: [UInt8]? = nil) {
    self.expect = expect
    self.share = share
    self.signature = signature
  }

  /// Offers a file to an account, or changes its access.
  package static func grant(
    _ file: Identifier, to account: Identifier, mode: String = "read", key: [UInt8] = [1],
    expect: String = "new"
  ) -> ShareChange {
    ShareChange(
      expect: expect,
      ShareStatement(file: file, account: account, state: .granted(mode: mode, key: key)))
  }

  package func json(signedBy key: Ed25519PrivateKey) -> JSONValue {
    let signature = signature ?? key.signature(for: share.signedBytes)
    return [
      "expect": .string(expect), "share": share.json,
      "signature": .string(Base64.standard.encode(signature)),
    ]
  }
}
