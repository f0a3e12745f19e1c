internal import Base
internal import JSON

/// What an author says a file's record is; the author's signature is over its canonical form.
struct FileStatement: Sendable {
  let id: Identifier
  let owner: Identifier
  let parent: Identifier
  let kind: FileRecord.Kind
  let name: FileRecord.Name
  /// The file's key, sealed under its parent's.
  let key: [UInt8]
  /// What a link leads to.
  let target: Identifier?
  let isDeleted: Bool

  static let nameByteCountMax = 512
  static let hmacByteCount = 32
  static let keyByteCountMax = 256

  init(_ json: JSON) throws(Refusal) {
    try json.requireMembers([
      "deleted", "id", "key", "name", "owner", "parent", "target", "type",
    ])
    id = try json["id"].identifier()
    owner = try json["owner"].identifier()
    parent = try json["parent"].identifier()
    kind = try json["type"].oneOf(FileRecord.Kind.self)
    try json["name"].requireMembers(["ciphertext", "hmac"])
    name = FileRecord.Name(
      ciphertext: try json["name"]["ciphertext"].base64(byteCount: 1...Self.nameByteCountMax),
      hmac: try json["name"]["hmac"].hmac())
    key = try json["key"].base64(byteCount: 1...Self.keyByteCountMax)
    isDeleted = try json["deleted"].boolean()
    if kind == .link {
      target = try json["target"].identifier()
    } else {
      guard !json["target"].exists else {
        throw .bodyInvalid(path: json["target"].path, rule: "only a link has a target")
      }
      target = nil
    }
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

/// What an owner, or a sharee about its own access, says of a share.
struct ShareStatement: Sendable {
  enum Action: Sendable {
    case grant(mode: Share.Mode, key: [UInt8])
    case revoke
    case reject
  }

  /// What a batch says one thing about.
  struct Key: Hashable {
    let file: Identifier
    let account: Identifier
  }

  let file: Identifier
  let account: Identifier
  let action: Action

  var key: Key { Key(file: file, account: account) }

  var isGrant: Bool { if case .grant = action { true } else { false } }

  private enum State: String, CaseIterable { case granted, revoked, rejected }

  init(_ json: JSON) throws(Refusal) {
    try json.requireMembers(["account", "file", "key", "mode", "state"])
    file = try json["file"].identifier()
    account = try json["account"].identifier()
    switch try json["state"].oneOf(State.self) {
    case .granted:
      action = .grant(
        mode: try json["mode"].oneOf(Share.Mode.self),
        key: try json["key"].base64(byteCount: 1...FileStatement.keyByteCountMax))
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

extension JSON {
  func hmac() throws(Refusal) -> [UInt8] {
    try base64(byteCount: FileStatement.hmacByteCount...FileStatement.hmacByteCount)
  }
}
