import Accounts
import Base
import JSON
import Sync
import TestDevices

/// A member of a record or of a share, with the rule about who may change it.
struct PermissionField {
  let name: String
  let rule: String

  static let all: [PermissionField] = [
    .init("file.id", "chosen at the creation; names the record for ever"),
    .init("file.owner", "the owner of the parent, for ever"),
    .init("file.parent", "who may write at the old and at the new parent, of one owner"),
    .init("file.type", "chosen at the creation, for ever"),
    .init("file.name.ciphertext", "who may write at the parent"),
    .init("file.name.hmac", "who may write at the parent"),
    .init("file.key", "who may write at the parent"),
    .init("file.target", "chosen at the creation of a link, for ever"),
    .init("file.deleted", "who may write at the parent; never back"),
    .init("file.deleted_with", "the server, once a folder above is deleted"),
    .init("file.version", "the server, with every change"),
    .init("file.author", "nobody but the key that makes the change"),
    .init("file.signature", "nobody but the author, over all of the statement"),
    .init("file.content.version", "who may write at the document, by writing content"),
    .init("file.content.bytes", "who may write at the document, by writing content"),
    .init("file.shares", "by the changes of shares, below"),
    .init("share.file", "names the share: a file of the owner, but no root and no link"),
    .init("share.account", "names the share: any account but the owner's"),
    .init("share.owner", "the owner of the file"),
    .init("share.mode", "the owner"),
    .init("share.key", "the owner"),
    .init("share.state", "the owner grants and revokes; the sharee links, unlinks and rejects"),
    .init("share.author", "nobody but the key that makes the change"),
    .init("share.signature", "nobody but the author, over all of the statement"),
    .init("share.version", "the server, with every change"),
  ]

  private init(_ name: String, _ rule: String) {
    self.name = name
    self.rule = rule
  }

  /// Whether the operation's change includes this member.
  func isChanged(by operation: PermissionOperation) -> Bool {
    guard let field = operation.field else { return false }
    return name == field || name.hasPrefix(field + ".")
  }

  /// The members in the schemas of the API's description, named as here.
  static func described(in document: JSON) -> Set<String> {
    let schemas = document["components"]["schemas"]
    var names: Set<String> = []
    func add(_ schema: JSON, to prefix: String) {
      for (name, member) in schema["properties"].members ?? [] {
        if name == "name" {
          add(schemas["Name"], to: prefix + "name.")
        } else if member["properties"].exists {
          add(member, to: prefix + name + ".")
        } else {
          names.insert(prefix + name)
        }
      }
    }
    for schema in ["Record", "FileStatement"] { add(schemas[schema], to: "file.") }
    for schema in ["Share", "ShareGrant", "ShareEnd"] { add(schemas[schema], to: "share.") }
    return names
  }

  /// The members of a record that are present and not null, without those of its shares.
  static func present(in json: JSON, prefix: String = "file.") -> Set<String> {
    var names: Set<String> = []
    for (name, value) in json.members ?? [] where !value.isNull {
      if value.isObject {
        names.formUnion(present(in: value, prefix: prefix + name + "."))
      } else {
        names.insert(prefix + name)
      }
    }
    return names
  }
}

/// The roles that can read each member, for every kind of record.
struct PermissionReaders {
  typealias Role = PermissionWorld.Role

  private var files: [Role: Set<String>] = [:]
  /// The number of the shared folder's shares that each role reads, and their members.
  private var shares: [Role: (count: Int, members: Set<String>)] = [:]
  private var shareCountMax = 0

  /// Leaves the world with a deleted folder.
  init(_ world: PermissionWorld) throws {
    try world.succeed(world[.owner].put(world.document, [1], ifMatch: "*"))
    try world.succeed(
      world[.owner].batch(files: [world.change(world.innerFolder) { $0.deleted = true }]))
    try world.server.sweepDeletions()
    for role in Role.allCases {
      for file in [world.folder, world.document, world.innerDocument] {
        try read(file, as: role, by: world[role])
      }
      let folder = try world[role].get("/v1/files/\(world.folder)").json["shares"].array ?? []
      let members = folder.reduce(into: Set<String>()) {
        $0.formUnion(PermissionField.present(in: $1, prefix: "share."))
      }
      shares[role] = (folder.count, members)
    }
    // A link's owner is the sharee that made it.
    try read(world.link(of: .writer), as: .owner, by: world[.writer])
    for role in [Role.reader, .invited, .stranger] {
      try read(world.link(of: .writer), as: role, by: world[role])
    }
    shareCountMax = shares.values.map(\.count).max() ?? 0
  }

  private mutating func read(_ file: Identifier, as role: Role, by device: TestDevice) throws {
    let answer = try device.get("/v1/files/\(file)")
    guard answer.status == 200 else { return }
    files[role, default: []].formUnion(PermissionField.present(in: try answer.json))
  }

  /// The readers of a member, such as `owner, writer: own`; a dash if there are none.
  func of(_ field: PermissionField) -> String {
    let readers = Role.allCases.compactMap { role -> String? in
      if let share = shares[role], share.members.contains(field.name) {
        return share.count == shareCountMax ? role.rawValue : "\(role.rawValue): own"
      }
      return files[role]?.contains(field.name) == true ? role.rawValue : nil
    }
    return readers.isEmpty ? "-" : readers.joined(separator: ", ")
  }
}
