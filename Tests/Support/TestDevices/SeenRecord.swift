package import Base
import Crypto
package import JSON

/// A file as an account saw it in an answer.
package struct SeenRecord: Sendable, Equatable {
  package let id: Identifier
  package let owner: Identifier
  package let parent: Identifier
  package let type: String
  /// Nil for a root.
  package let name: FileStatement.Name?
  package let key: [UInt8]?
  package let target: Identifier?
  package let deleted: Bool
  /// The folder that the user deleted, if this file was deleted with it.
  package let deletedWith: Identifier?
  package let version: Int64
  package let author: [UInt8]?
  package let signature: [UInt8]?
  package let contentVersion: Int64?
  package let contentByteCount: Int64?
  package let shares: [SeenShare]

  /// Nil if a member is missing or of another type.
  package init?(_ json: JSON) {
    guard let id = json["id"].identifier, let owner = json["owner"].identifier,
      let parent = json["parent"].identifier, let type = json["type"].string,
      let deleted = json["deleted"].bool, let version = json["version"].integer
    else { return nil }
    self.id = id
    self.owner = owner
    self.parent = parent
    self.type = type
    self.deleted = deleted
    self.version = version
    if let ciphertext = json["name"]["ciphertext"].base64, let hmac = json["name"]["hmac"].base64 {
      name = FileStatement.Name(ciphertext: ciphertext, hmac: hmac)
    } else {
      name = nil
    }
    key = json["key"].base64
    target = json["target"].identifier
    deletedWith = json["deleted_with"].identifier
    author = json["author"].base64
    signature = json["signature"].base64
    contentVersion = json["content"]["version"].integer
    contentByteCount = json["content"]["bytes"].integer
    shares = (json["shares"].array ?? []).compactMap { SeenShare($0) }
  }

  package var isRoot: Bool { parent == id }

  /// The statement that its author signed; nil for a root. A folder's deletion marks the files below it
  /// without a signature of their own, so there the earlier statement applies.
  package var statement: FileStatement? {
    name.map { name in
      FileStatement(
        id: id, owner: owner, parent: parent, type: type, name: name, key: key ?? [],
        deleted: deleted && deletedWith == nil, target: target)
    }
  }

  /// Whether the signature is the author's over the received record; nil without one.
  package var isSignatureValid: Bool? {
    guard let statement, let signature, let author else { return nil }
    return Ed25519PublicKey(bytes: author)?
      .isValid(signature: signature, for: statement.signedBytes) ?? false
  }

  /// A change of the record that expects it where it was seen. Only for named files.
  package func change(_ body: (inout FileStatement) -> Void) -> FileChange {
    guard let name, var file = statement else { preconditionFailure("a root has no statement") }
    file.deleted = deleted
    body(&file)
    return FileChange(expect: .at(parent: parent, hmac: name.hmac), file)
  }
}

/// A share as an account saw it in an answer.
package struct SeenShare: Sendable, Equatable {
  package let file: Identifier
  package let owner: Identifier
  package let account: Identifier
  package let mode: String
  package let state: String
  package let key: [UInt8]?
  package let author: [UInt8]
  package let signature: [UInt8]
  package let version: Int64

  /// Nil if a member is missing or of another type.
  package init?(_ json: JSON) {
    guard let file = json["file"].identifier, let owner = json["owner"].identifier,
      let account = json["account"].identifier, let mode = json["mode"].string,
      let state = json["state"].string, let author = json["author"].base64,
      let signature = json["signature"].base64, let version = json["version"].integer
    else { return nil }
    self.file = file
    self.owner = owner
    self.account = account
    self.mode = mode
    self.state = state
    self.author = author
    self.signature = signature
    self.version = version
    key = json["key"].base64
  }

  package var statement: ShareStatement {
    let state: ShareStatement.State =
      switch self.state {
      case "revoked": .revoked
      case "rejected": .rejected
      default: .granted(mode: mode, key: key ?? [])
      }
    return ShareStatement(file: file, account: account, state: state)
  }

  package var isSignatureValid: Bool {
    Ed25519PublicKey(bytes: author)?.isValid(signature: signature, for: statement.signedBytes)
      ?? false
  }
}

extension JSON {
  package var identifier: Identifier? { string.flatMap { Identifier($0) } }
  package var base64: [UInt8]? { string.flatMap { Base64.standard.decode($0) } }
}
