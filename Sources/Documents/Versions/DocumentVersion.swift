import Base
import Crypto
import JSON
import Requests

/// What one device says of a document, as it signed it.
struct DocumentVersion: Sendable {
  /// What the device's app made of the document. Only devices read it.
  struct Content: Sendable {
    /// Names the secret by which the body is encrypted.
    let secret: [UInt8]
    let body: [UInt8]

    static let secretByteCountMax = 64
    static let bodyByteCountMax = 1 << 20
  }

  let document: Identifier
  let author: [UInt8]
  /// The device's own number, which grows over all its documents.
  let counter: Int64
  /// The versions of which it was made.
  let clock: VersionClock
  /// Seconds since 1970, by the clock of the device.
  let created: Int64
  /// Nil for a deletion.
  let content: Content?
  /// The other accounts that get the version. A deletion that names accounts only removes those from the document.
  let receivers: [Identifier]
  let blobs: [Identifier]
  let signature: [UInt8]

  /// The charge for each account that gets the version: the row and its part of the indexes.
  static let overheadByteCount: Int64 = 128
  /// As much of a deletion's charge as needs no room: with a clock of as many devices as have versions side by side.
  static let deletionByteCountMax =
    overheadByteCount + Int64(DocumentStates.currentCountMax * VersionClock.entryByteCount)
  /// The most other accounts that a version names.
  static let receiverCountMax = 16
  /// The charge for each blob in each account that gets the version.
  static let blobNameByteCount: Int64 = 64
  static let blobCountMax = 64
  /// The end of the year 9999.
  private static let createdMax: Int64 = 253_402_300_799

  /// Whether it deletes the document, or removes accounts from it.
  var isDeletion: Bool { content == nil }
  /// Whether it removes accounts from the document, and says nothing of the document in its own.
  var isRemoval: Bool { isDeletion && !receivers.isEmpty }

  /// How many accounts get it.
  var placeCount: Int64 { Int64(1 + receivers.count) }

  /// The charge besides the fee of a record.
  var chargedByteCount: Int64 {
    Int64(content?.body.count ?? 0) + Int64(clock.count * VersionClock.entryByteCount)
      + (Self.overheadByteCount + Self.blobNameByteCount * Int64(blobs.count)) * placeCount
  }

  private var statement: JSONValue {
    var members: [JSONValue.Member] = [
      .init("author", .base64(author)), .init("clock", clock.json),
      .init("counter", .integer(counter)), .init("created", .integer(created)),
      .init("deleted", .bool(isDeletion)), .init("document", .string(document.description)),
    ]
    if let content {
      members += [.init("body", .base64(content.body)), .init("secret", .base64(content.secret))]
    }
    if !receivers.isEmpty {
      members.append(.init("to", .array(receivers.map { .string($0.description) })))
    }
    if !blobs.isEmpty {
      members.append(.init("blobs", .array(blobs.map { .string($0.description) })))
    }
    return .object(members)
  }

  /// Whether the author signed the version: RFC 8785 (JCS) of `{"version": …}`.
  var isSigned: Bool {
    Ed25519PublicKey(bytes: author)?.isValid(
      signature: signature, for: JSONValue.object([.init("version", statement)]).canonical())
      ?? false
  }

  /// `version` and `signature`, as they were sent.
  var members: [JSONValue.Member] {
    [.init("version", statement), .init("signature", .base64(signature))]
  }
}

extension DocumentVersion {
  /// Reads `{"version": …, "signature": …}`. The signature is only read.
  init(_ json: JSON) throws(RequestRefusal) {
    try json.requireMembers(["signature", "version"])
    let version = json["version"]
    let isDeletion = try version["deleted"].boolean()
    try version.requireMembers(
      ["author", "clock", "counter", "created", "deleted", "document", "to"]
        + (isDeletion ? [] : ["blobs", "body", "secret"]))
    let keyByteCount = Ed25519PublicKey.byteCount
    let counter = try version["counter"].counter()
    let author = try version["author"].base64(byteCount: keyByteCount...keyByteCount)
    let clock = try VersionClock(version["clock"])
    guard clock[author] < counter else {
      throw .bodyInvalid(
        path: version["clock"].path, rule: "must have a counter of the author below the version's")
    }
    let receivers = try version["to"].identifiers(countMax: Self.receiverCountMax)
    let blobs = try version["blobs"].identifiers(countMax: Self.blobCountMax)
    guard !isDeletion || receivers.isEmpty || clock.isEmpty else {
      throw .bodyInvalid(
        path: version["clock"].path, rule: "must be empty in a deletion that names accounts")
    }
    guard let created = version["created"].integer, 0...Self.createdMax ~= created else {
      throw .bodyInvalid(path: version["created"].path, rule: "must be whole seconds since 1970")
    }
    let signatureByteCount = Ed25519PublicKey.signatureByteCount
    self.init(
      document: try version["document"].identifier(), author: author, counter: counter,
      clock: clock, created: created, content: isDeletion ? nil : try Content(version),
      receivers: receivers, blobs: blobs,
      signature: try json["signature"].base64(byteCount: signatureByteCount...signatureByteCount))
  }
}

extension DocumentVersion.Content {
  fileprivate init(_ version: JSON) throws(RequestRefusal) {
    secret = try version["secret"].base64(byteCount: 1...Self.secretByteCountMax)
    body = try version["body"].base64(byteCount: 1...Self.bodyByteCountMax)
  }
}

extension JSON {
  /// Different ids that a version names; none if the member is absent.
  fileprivate func identifiers(countMax max: Int) throws(RequestRefusal) -> [Identifier] {
    guard exists else { return [] }
    guard let values = array, 1...max ~= values.count else {
      throw .bodyInvalid(path: path, rule: "must be a list of 1 to \(max) ids")
    }
    let ids = try values.map { (json) throws(RequestRefusal) in try json.identifier() }
    guard Set(ids).count == ids.count else {
      throw .bodyInvalid(path: path, rule: "must name each id once")
    }
    return ids
  }
}
