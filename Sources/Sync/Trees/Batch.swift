package import Base
import Crypto
import JSON
import Requests

/// Changes of files and shares that take effect together or not at all.
package struct Batch: Sendable {
  /// The state that a client believes a file is in.
  package enum Expectation: Sendable {
    case new
    case at(parent: Identifier, hmac: [UInt8])
  }

  /// A change of a file or of a share, as its author signed it.
  package struct SignedChange<Expected: Sendable, Statement: Sendable>: Sendable {
    let expectation: Expected
    let statement: Statement
    let signature: [UInt8]
    let isSigned: Bool

    package init(
      expectation: Expected, statement: Statement, signature: [UInt8], isSigned: Bool
    ) {
      self.expectation = expectation
      self.statement = statement
      self.signature = signature
      self.isSigned = isSigned
    }
  }

  package typealias FileChange = SignedChange<Expectation, FileRecord.Statement>
  /// Expects no state of a new share.
  package typealias ShareChange = SignedChange<Share.State?, Share.Statement>

  /// Files and shares together.
  static let changeCountMax = 500
  static let bodyByteCountMax = 1 << 20

  /// The key that signed the statements. The transaction checks whether it is the caller's.
  let author: [UInt8]
  let files: [FileChange]
  let shares: [ShareChange]

  package init(author: [UInt8], files: [FileChange], shares: [ShareChange]) {
    self.author = author
    self.files = files
    self.shares = shares
  }

  /// Whether it only deletes files and ends shares.
  var onlyTakesAway: Bool {
    files.allSatisfy { $0.statement.isDeleted } && shares.allSatisfy { !$0.statement.isGrant }
  }
}

extension Batch {
  /// Reads the body and checks the signatures. A malformed body is refused with every fault's place.
  init(_ body: [UInt8], counting signatures: SignatureCounter) throws {
    let json = try JSON.body(body)
    try json.requireMembers(["author", "files", "shares"])
    let author = try json["author"].base64(byteCount: 32...32)
    guard let key = Ed25519PublicKey(bytes: author) else {
      throw RequestRefusal.bodyInvalid(path: "$.author", rule: "must be an Ed25519 public key")
    }
    let files = try json["files"].optionalArray()
    let shares = try json["shares"].optionalArray()
    let count = files.count + shares.count
    guard count > 0 else {
      throw RequestRefusal.bodyInvalid(path: "$", rule: "must change a file or a share")
    }
    guard count <= Self.changeCountMax else {
      throw Refusal.batchTooLarge(max: Self.changeCountMax)
    }
    var errors: [BodyError] = []
    let fileChanges = Self.readable(files, &errors) { (json) throws(RequestRefusal) in
      try FileChange(json, of: "file", key, signatures) { (json) throws(RequestRefusal) in
        try Expectation(json)
      }
    }
    let shareChanges = Self.readable(shares, &errors) { (json) throws(RequestRefusal) in
      try ShareChange(json, of: "share", key, signatures) { (json) throws(RequestRefusal) in
        json.string == "new" ? nil : try json.oneOf(Share.State.self)
      }
    }
    guard errors.isEmpty else { throw RequestRefusal.bodyInvalid(errors) }
    self.init(author: author, files: fileChanges, shares: shareChanges)
  }

  private static func readable<Value>(
    _ json: [JSON], _ errors: inout [BodyError], _ read: (JSON) throws(RequestRefusal) -> Value
  ) -> [Value] {
    json.compactMap { json in
      do throws(RequestRefusal) { return try read(json) } catch {
        if case .bodyInvalid(let found) = error { errors += found }
        return nil
      }
    }
  }
}

protocol SignedStatement {
  init(_ json: JSON) throws(RequestRefusal)
  var signed: [UInt8] { get }
}

extension FileRecord.Statement: SignedStatement {}
extension Share.Statement: SignedStatement {}

extension Batch.SignedChange where Statement: SignedStatement {
  /// Reads a change whose statement is the member `name`.
  fileprivate init(
    _ json: JSON, of name: String, _ author: Ed25519PublicKey, _ signatures: SignatureCounter,
    expecting read: (JSON) throws(RequestRefusal) -> Expected
  ) throws(RequestRefusal) {
    try json.requireMembers(["expect", "signature", name])
    let expectation = try read(json["expect"])
    let statement = try Statement(json[name])
    let signature = try json["signature"].base64(byteCount: 64...64)
    signatures.countStatement()
    self.init(
      expectation: expectation, statement: statement, signature: signature,
      isSigned: author.isValid(signature: signature, for: statement.signed))
  }
}

extension Batch.Expectation {
  fileprivate init(_ json: JSON) throws(RequestRefusal) {
    if json.string == "new" {
      self = .new
    } else if json.isObject {
      try json.requireMembers(["hmac", "parent"])
      self = .at(parent: try json["parent"].identifier(), hmac: try json["hmac"].hmac())
    } else {
      throw .bodyInvalid(
        path: json.path, rule: "must be \"new\" or the parent and hmac the client believes in")
    }
  }
}
