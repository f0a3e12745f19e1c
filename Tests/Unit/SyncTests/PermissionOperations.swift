import Base
import Crypto
import TestDevices

/// An operation that every role tries, and the member of a record that it would change.
struct PermissionOperation {
  typealias Role = PermissionWorld.Role

  let name: String
  /// A name such as `file.parent`; nil if no single member is concerned.
  let field: String?
  /// Whether each role needs an untouched tree.
  let isPrepared: Bool
  /// Returns the table's cell; nil if the role has nothing of this kind to try.
  let attempt: (PermissionWorld, Role) throws -> String?

  /// The cell of a successful operation.
  static let done = "yes"

  /// An attempt whose answer shows whether it was allowed.
  static func request(
    _ name: String, _ field: String? = nil,
    prepare: ((PermissionWorld, Role) throws -> Void)? = nil,
    _ attempt: @escaping (PermissionWorld, Role) throws -> Answer?
  ) -> PermissionOperation {
    PermissionOperation(name: name, field: field, isPrepared: prepare != nil) { world, role in
      try prepare?(world, role)
      return try attempt(world, role).map(cell)
    }
  }

  /// A change of one file.
  static func change(
    _ name: String, _ field: String?, of file: KeyPath<PermissionWorld, Identifier>,
    _ body: @escaping (inout FileStatement, PermissionWorld, Role) throws -> Void
  ) -> PermissionOperation {
    request(name, field) { world, role in
      let change = try world.change(world[keyPath: file]) { try body(&$0, world, role) }
      return try world[role].batch(files: [change])
    }
  }

  /// What the role sees of something, without changing it.
  static func sight(
    _ name: String, _ look: @escaping (PermissionWorld, Role) throws -> String
  ) -> PermissionOperation {
    PermissionOperation(name: name, field: nil, isPrepared: false, attempt: look)
  }

  /// The status and the rule or problem of a refusal.
  static func cell(_ answer: Answer) throws -> String {
    guard answer.status >= 300 else { return done }
    let rules = try answer.rules
    let reason = try rules.isEmpty ? answer.problem ?? "?" : rules.joined(separator: ", ")
    return "\(answer.status) \(reason)"
  }
}

extension PermissionOperation {
  /// Changes of files below the shared folder, and of their content.
  static var ofFiles: [PermissionOperation] {
    [
      request("create a document") { world, role in
        try world[role].create(parent: world.folder, owner: world.account(.owner)).answer
      },
      request("create with the id of another file", "file.id") { world, role in
        let change = try world.change(world.document) { _ in }
        return try world[role].batch(files: [FileChange(expect: .new, change.file)])
      },
      change("rename", "file.name.hmac", of: \.document) { file, _, _ in
        file.name = .init()
      },
      change("seal the same name anew", "file.name.ciphertext", of: \.document) { file, _, _ in
        file.name.ciphertext = Random.bytes(24)
      },
      change("give another key", "file.key", of: \.document) { file, _, _ in
        file.key = Random.bytes(40)
      },
      change("move to a folder beneath", "file.parent", of: \.document) { file, world, _ in
        file.parent = world.innerFolder
      },
      change("move out, to the owner's root", "file.parent", of: \.document) { file, world, _ in
        file.parent = world[.owner].root
      },
      change("move out, to one's own root", "file.parent", of: \.document) { file, world, role in
        file.parent = world[role].root
      },
      change("move in, from a private folder", "file.parent", of: \.privateDocument) {
        file, world, _ in file.parent = world.folder
      },
      change("take over, or give away", "file.owner", of: \.document) { file, world, role in
        file.owner = try world.account(role == .owner ? .writer : role)
      },
      change("make it a folder", "file.type", of: \.document) { file, _, _ in
        file.type = "folder"
      },
      change("delete", "file.deleted", of: \.document) { file, _, _ in file.deleted = true },
      request(
        "undelete", "file.deleted",
        prepare: { world, _ in
          try world.succeed(
            world[.owner].batch(files: [world.change(world.document) { $0.deleted = true }]))
        },
        { world, role in
          try world[role].batch(files: [world.change(world.document) { _ in }])
        }),
      request("write content", "file.content") { world, role in
        try world[role].put(world.document, [1, 2, 3], ifMatch: "*")
      },
      request("sign with another's key", "file.author") { world, role in
        let other = world[role == .writer ? .owner : .writer]
        let change = try world.change(world.document) { $0.key = Random.bytes(40) }
        return try world[role].post("/v1/files", other.batchBody(files: [change]))
      },
      request("put another's signature", "file.signature") { world, role in
        var change = try world.change(world.document) { $0.key = Random.bytes(40) }
        change.signature = world.newcomer.key.signature(for: change.file.signedBytes)
        return try world[role].batch(files: [change])
      },
    ]
  }

  /// Changes of the shared folder itself, of the root, and of files that are not shared.
  static var ofFolders: [PermissionOperation] {
    [
      change("rename the shared folder", "file.name.hmac", of: \.folder) { file, _, _ in
        file.name = .init()
      },
      change("give the shared folder another key", "file.key", of: \.folder) { file, _, _ in
        file.key = Random.bytes(40)
      },
      change("move the shared folder", "file.parent", of: \.folder) { file, world, _ in
        file.parent = world.privateFolder
      },
      change("delete the shared folder", "file.deleted", of: \.folder) { file, _, _ in
        file.deleted = true
      },
      request("rename the root", "file.name.hmac") { world, role in
        let root = world[.owner].root
        let change = FileChange(
          expect: .at(parent: root, hmac: Random.bytes(32)),
          FileStatement(id: root, owner: try world.account(.owner), parent: root, type: "folder"))
        return try world[role].batch(files: [change])
      },
      request("create a second root") { world, role in
        let root = Random.identifier()
        let statement = FileStatement(
          id: root, owner: try world.account(.owner), parent: root, type: "folder")
        return try world[role].batch(files: [FileChange(statement)])
      },
      change("rename a private document", "file.name.hmac", of: \.privateDocument) { file, _, _ in
        file.name = .init()
      },
      request("write a private document's content", "file.content") { world, role in
        try world[role].put(world.privateDocument, [1, 2, 3], ifMatch: "*")
      },
    ]
  }
}
