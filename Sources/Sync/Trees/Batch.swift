internal import Base
internal import Crypto
internal import JSON

/// Changes of files and shares that take effect together or not at all.
struct Batch: Sendable {
  /// What a client believes of the file it changes.
  enum Expectation: Sendable {
    case new
    case at(parent: Identifier, hmac: [UInt8])
  }

  struct FileChange: Sendable {
    let expectation: Expectation
    let statement: FileStatement
    let signature: [UInt8]
    let isSigned: Bool
  }

  struct ShareChange: Sendable {
    /// The state the client believes the share is in; nil for a new one.
    let expectation: Share.State?
    let statement: ShareStatement
    let signature: [UInt8]
    let isSigned: Bool
  }

  /// Files and shares together.
  static let changeCountMax = 500
  static let bodyByteCountMax = 1 << 20

  /// The key that signed the statements; whether it is the caller's is for the transaction to see.
  let author: [UInt8]
  let files: [FileChange]
  let shares: [ShareChange]

  /// Reads the body and checks the signatures; what is malformed is refused with every place.
  init(_ body: [UInt8], counting signatures: SignatureCounter) throws(Refusal) {
    let json = try JSON.body(body)
    try json.requireMembers(["author", "files", "shares"])
    author = try json["author"].base64(byteCount: 32...32)
    guard let key = Ed25519PublicKey(bytes: author) else {
      throw .bodyInvalid(path: "$.author", rule: "must be an Ed25519 public key")
    }
    let files = try json["files"].optionalArray()
    let shares = try json["shares"].optionalArray()
    let count = files.count + shares.count
    guard count > 0 else { throw .bodyInvalid(path: "$", rule: "must change a file or a share") }
    guard count <= Self.changeCountMax else { throw .batchTooLarge(max: Self.changeCountMax) }
    var errors: [BodyError] = []
    self.files = Self.readable(files, &errors) { json throws(Refusal) in
      try FileChange(json, key, signatures)
    }
    self.shares = Self.readable(shares, &errors) { json throws(Refusal) in
      try ShareChange(json, key, signatures)
    }
    guard errors.isEmpty else { throw .bodyInvalid(errors) }
  }

  private static func readable<Value>(
    _ json: [JSON], _ errors: inout [BodyError], _ read: (JSON) throws(Refusal) -> Value
  ) -> [Value] {
    json.compactMap { json in
      do throws(Refusal) { return try read(json) } catch {
        if case .bodyInvalid(let found) = error { errors += found }
        return nil
      }
    }
  }
}

extension Batch.FileChange {
  fileprivate init(
    _ json: JSON, _ author: Ed25519PublicKey, _ signatures: SignatureCounter
  ) throws(Refusal) {
    try json.requireMembers(["expect", "file", "signature"])
    expectation = try Batch.Expectation(json["expect"])
    statement = try FileStatement(json["file"])
    signature = try json["signature"].base64(byteCount: 64...64)
    signatures.countStatement()
    isSigned = author.isValid(signature: signature, for: statement.signed)
  }
}

extension Batch.ShareChange {
  fileprivate init(
    _ json: JSON, _ author: Ed25519PublicKey, _ signatures: SignatureCounter
  ) throws(Refusal) {
    try json.requireMembers(["expect", "share", "signature"])
    expectation =
      json["expect"].string == "new" ? nil : try json["expect"].oneOf(Share.State.self)
    statement = try ShareStatement(json["share"])
    signature = try json["signature"].base64(byteCount: 64...64)
    signatures.countStatement()
    isSigned = author.isValid(signature: signature, for: statement.signed)
  }
}

extension Batch.Expectation {
  fileprivate init(_ json: JSON) throws(Refusal) {
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
