internal import Base
internal import JSON
internal import Storage
internal import Tiers

/// Creates the records of a tree.
enum Files {
  static let nameByteCountMax = 512
  static let hmacByteCount = 32

  /// A record as a client asks for it.
  struct New: Sendable {
    let id: Identifier
    let parent: Identifier
    let kind: FileRecord.Kind
    let name: FileRecord.Name

    init(_ json: JSON) throws(Refusal) {
      id = try json["id"].identifier()
      parent = try json["parent"].identifier()
      switch json["type"].string {
      case "folder": kind = .folder
      case "document": kind = .document
      default:
        throw .bodyInvalid(path: "$.type", rule: "must be \"folder\" or \"document\"")
      }
      let ciphertext = try json["name"]["ciphertext"].base64(byteCount: 1...nameByteCountMax)
      let hmac = try json["name"]["hmac"].base64(byteCount: hmacByteCount...hmacByteCount)
      name = FileRecord.Name(ciphertext: ciphertext, hmac: hmac)
    }
  }

  static func create(
    _ transaction: Transaction, _ credentials: Credentials, _ new: New, catalogue: Catalogue,
    now: Instant
  ) throws -> Outcome {
    var locked = try LockedCaller(transaction, credentials, now: now)
    return try Nonces.once(transaction, credentials) {
      let account = locked.caller.account
      try requirePlace(transaction, new, account)
      let fee = catalogue.metadataFeeByteCount
      try locked.owner.requireRoom(for: fee, transaction, catalogue: catalogue, now: now)
      let record = FileRecord(
        id: new.id, owner: account, parent: new.parent, kind: new.kind, name: new.name,
        sequence: locked.owner.nextSequence())
      try record.insert(transaction)
      try locked.owner.charge(
        transaction, fee, reason: .recordCreated, file: record.id, sequence: record.sequence,
        now: now)
      try locked.owner.save(transaction)
      return Outcome(201, headers: [("Location", "/v1/files/\(record.id)")], record.json)
    }
  }

  private static func requirePlace(
    _ transaction: Transaction, _ new: New, _ account: Identifier
  ) throws {
    let parentKind = try transaction.first(
      "SELECT kind FROM sync.files WHERE id = $1 AND owner_id = $2", .id(new.parent), .id(account)
    ) { row in try row.text(0) }
    guard let parentKind else { throw Refusal.parentNotFound }
    guard parentKind == "folder" else { throw Refusal.parentNotFolder }
    let sibling = try transaction.first(
      "SELECT 1 FROM sync.files WHERE parent_id = $1 AND name_hmac = $2",
      .id(new.parent), .blob(new.name.hmac)
    ) { row in try row.integer(0) }
    guard sibling == nil else { throw Refusal.nameTaken }
  }
}
