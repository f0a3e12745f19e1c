import Accounts
package import Base
import Crypto
import JSON
import Requests

extension FileRecord {
  /// An author's statement of a file's record. The author signs its canonical form.
  package struct Statement: Sendable {
    let id: Identifier
    let owner: Identifier
    let parent: Identifier
    let kind: FileRecord.Kind
    let name: FileRecord.Name
    /// The file's key, sealed under its parent's.
    let key: [UInt8]
    let target: Identifier?
    let isDeleted: Bool

    static let nameByteCountMax = 512
    static let hmacByteCount = 32
    static let keyByteCountMax = 256

    package init(
      id: Identifier, owner: Identifier, parent: Identifier, kind: FileRecord.Kind,
      name: FileRecord.Name, key: [UInt8], isDeleted: Bool, target: Identifier?
    ) {
      self.id = id
      self.owner = owner
      self.parent = parent
      self.kind = kind
      self.name = name
      self.key = key
      self.isDeleted = isDeleted
      self.target = target
    }

    init(_ json: JSON) throws(RequestRefusal) {
      try json.requireMembers([
        "deleted", "id", "key", "name", "owner", "parent", "target", "type",
      ])
      self.init(
        id: try json["id"].identifier(), owner: try json["owner"].identifier(),
        parent: try json["parent"].identifier(), kind: try json["type"].oneOf(FileRecord.Kind.self),
        name: try Self.name(json["name"]),
        key: try json["key"].base64(byteCount: 1...Self.keyByteCountMax),
        isDeleted: try json["deleted"].boolean(), target: try Self.target(json))
    }

    static func name(_ json: JSON) throws(RequestRefusal) -> FileRecord.Name {
      try json.requireMembers(["ciphertext", "hmac"])
      return FileRecord.Name(
        ciphertext: try json["ciphertext"].base64(byteCount: 1...nameByteCountMax),
        hmac: try json["hmac"].hmac())
    }

    private static func target(_ json: JSON) throws(RequestRefusal) -> Identifier? {
      if try json["type"].oneOf(FileRecord.Kind.self) == .link {
        return try json["target"].identifier()
      }
      guard !json["target"].exists else {
        throw .bodyInvalid(path: json["target"].path, rule: "only a link has a target")
      }
      return nil
    }

    /// The bytes that are signed: RFC 8785 (JCS) of `{"file": …}`.
    var signed: [UInt8] {
      var members: [JSONValue.Member] = [
        .init("deleted", .bool(isDeleted)), .init("id", .string(id.description)),
        .init("key", .string(Base64.standard.encode(key))),
        .init("name", name.json), .init("owner", .string(owner.description)),
        .init("parent", .string(parent.description)), .init("type", .string(kind.rawValue)),
      ]
      if let target { members.append(.init("target", .string(target.description))) }
      return JSONValue.object([.init("file", .object(members))]).canonical()
    }
  }
}

extension FileRecord {
  /// Whether the author's key has signed the record of a file that is no root. A file that its folder took along
  /// keeps the statement that it is not deleted.
  func isSigned(by authorKey: Ed25519PublicKey?) -> Bool {
    guard let authorKey, let author, let name, let key else { return false }
    let statement = Statement(
      id: id, owner: owner, parent: parent, kind: kind, name: name, key: key,
      isDeleted: isDeleted && deletedWith == nil, target: target)
    return authorKey.isValid(signature: author.signature, for: statement.signed)
  }
}

extension Share {
  /// A statement about a share, by the owner or by the sharee about its own access.
  package struct Statement: Sendable {
    package enum Action: Sendable {
      case grant(mode: Share.Mode, key: [UInt8])
      case revoke
      case reject
    }

    /// The share that a statement is about. A batch may state each only once.
    package struct Key: Hashable, Sendable {
      let file: Identifier
      let account: Identifier

      package init(file: Identifier, account: Identifier) {
        self.file = file
        self.account = account
      }
    }

    let file: Identifier
    let account: Identifier
    let action: Action

    var key: Key { Key(file: file, account: account) }

    var isRejection: Bool { if case .reject = action { true } else { false } }

    var isGrant: Bool { if case .grant = action { true } else { false } }

    private enum State: String, CaseIterable { case granted, revoked, rejected }

    package init(file: Identifier, account: Identifier, action: Action) {
      self.file = file
      self.account = account
      self.action = action
    }

    init(_ json: JSON) throws(RequestRefusal) {
      try json.requireMembers(["account", "file", "key", "mode", "state"])
      file = try json["file"].identifier()
      account = try json["account"].identifier()
      switch try json["state"].oneOf(State.self) {
      case .granted:
        action = .grant(
          mode: try json["mode"].oneOf(Share.Mode.self),
          key: try json["key"].base64(byteCount: 1...FileRecord.Statement.keyByteCountMax))
      case .revoked:
        try json.requireMembers(["account", "file", "state"])
        action = .revoke
      case .rejected:
        try json.requireMembers(["account", "file", "state"])
        action = .reject
      }
    }

    /// The bytes that are signed: RFC 8785 (JCS) of `{"share": …}`.
    var signed: [UInt8] {
      var members: [JSONValue.Member] = [
        .init("account", .string(account.description)), .init("file", .string(file.description)),
      ]
      let state: State
      switch action {
      case .grant(let mode, let key):
        members.append(.init("key", .string(Base64.standard.encode(key))))
        members.append(.init("mode", .string(mode.rawValue)))
        state = .granted
      case .revoke: state = .revoked
      case .reject: state = .rejected
      }
      members.append(.init("state", .string(state.rawValue)))
      return JSONValue.object([.init("share", .object(members))]).canonical()
    }
  }
}

extension JSON {
  func hmac() throws(RequestRefusal) -> [UInt8] {
    try base64(byteCount: FileRecord.Statement.hmacByteCount...FileRecord.Statement.hmacByteCount)
  }
}
