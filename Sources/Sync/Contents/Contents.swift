import Accounts
package import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import JSON
import Requests
package import Storage
package import Tiers

/// Reads and replaces the content of documents.
enum Contents {
  static let pattern = "/v1/files/{id}/content"

  /// The largest content that is kept in the database. Larger content goes to the object store.
  static let inlineByteCountMax = 16 * 1024

  /// Where new content is: in memory, or already durable under an object id.
  typealias Source = (place: StoredContent.Place, byteCount: Int64)

  static func replace(
    _ transaction: Transaction, _ write: ContentWrite, with source: Source, catalogue: Catalogue,
    now: Instant
  ) throws -> WrittenContent {
    var locked = try LockedDocument(transaction, write, now: now)
    var charged: Identifier?
    let outcome = try Nonces.once(transaction, write.credentials) {
      if case .object(let id) = source.place {
        try Reservations.consume(
          transaction, id, of: locked.caller, identity: write.identity, now: now)
      }
      let file = try locked.document(transaction)
      charged = file.owner
      return try put(transaction, file, source, &locked, catalogue: catalogue, now: now)
    }
    if charged == nil, let object = source.place.objectID {
      // Another attempt at the same upload was faster.
      try Reservations.release(transaction, object)
    }
    return WrittenContent(outcome: outcome, owner: charged, byteCount: source.byteCount)
  }

  /// Makes an earlier version of a document its content again. No bytes are copied.
  static func restore(
    _ transaction: Transaction, _ write: ContentWrite, version: Int64, catalogue: Catalogue,
    now: Instant
  ) throws -> Outcome {
    var locked = try LockedDocument(transaction, write, now: now)
    return try Nonces.once(transaction, write.credentials) {
      let file = try locked.document(transaction)
      let source = try take(transaction, version, of: file, &locked.owners)
      return try put(transaction, file, source, &locked, catalogue: catalogue, now: now)
    }
  }

  /// Takes a version's content on its way back to its document.
  static func take(
    _ transaction: Transaction, _ version: Int64, of file: FileRecord, _ owners: inout LockedOwners
  ) throws -> Source {
    guard let source = try Versions.take(transaction, file.id, version) else {
      throw ContentRefusal.versionNotFound
    }
    try owners.change(file.owner) { owner in
      owner.charge(
        -source.byteCount, history: -source.byteCount, reason: .contentChanged, file: file.id,
        sequence: owner.sequence + 1)
      try FolderCap.post(-source.byteCount, above: file.id, of: owner, transaction)
    }
    return source
  }

  private static func put(
    _ transaction: Transaction, _ file: FileRecord, _ source: Source,
    _ locked: inout LockedDocument, catalogue: Catalogue, now: Instant
  ) throws -> Outcome {
    let version = try put(
      transaction, file, source, by: locked.caller.publicKey, askedBy: locked.caller.account,
      &locked.owners, catalogue: catalogue, now: now)
    return Outcome(
      200, headers: [("ETag", EntityTag(version: version).field)],
      [
        "id": .string(file.id.description), "version": .integer(version),
        "bytes": .integer(source.byteCount),
      ])
  }

  static func put(
    _ transaction: Transaction, _ file: FileRecord, _ source: Source, by author: [UInt8]?,
    askedBy caller: Identifier, _ owners: inout LockedOwners, catalogue: Catalogue, now: Instant
  ) throws -> Int64 {
    let version = try owners.change(file.owner) { owner in
      let replacement = try Replacement(
        of: file, by: source.byteCount, for: owner, askedBy: caller, transaction,
        catalogue: catalogue, now: now)
      let version = owner.nextSequence()
      try replacement.perform(transaction, file, for: &owner, number: version, now: now)
      try store(transaction, file, source, by: author, version: version, now: now)
      return version
    }
    try Visibility(transaction, now: now).renew(file.id, &owners)
    try owners.save(transaction, now: now)
    return version
  }

  private static func store(
    _ transaction: Transaction, _ file: FileRecord, _ source: Source, by author: [UInt8]?,
    version: Int64, now: Instant
  ) throws {
    switch source.place {
    case .bytes(let bytes):
      try transaction.execute(
        """
        INSERT INTO sync.inline_contents (file_id, bytes) VALUES ($1, $2)
        ON CONFLICT (file_id) DO UPDATE SET bytes = excluded.bytes
        """, .id(file.id), .blob(bytes))
    case .object:
      if file.contentVersion > 0, file.objectID == nil {
        try transaction.execute(
          "DELETE FROM sync.inline_contents WHERE file_id = $1", .id(file.id))
      }
    }
    try transaction.execute(
      """
      UPDATE sync.files
      SET seq = $2, content_version = $2, content_bytes = $3, object_id = $4, content_author = $5,
        content_ms = $6
      WHERE id = $1
      """,
      .id(file.id), .integer(version), .integer(source.byteCount),
      .id(source.place.objectID), .blob(author), .instant(now))
  }

  /// Finds a document's content, or with `version` the content that it had at that version.
  static func find(
    _ reader: Reader, _ credentials: Credentials, _ id: Identifier, version: Int64?, now: Instant
  ) throws -> StoredContent {
    let caller = try Caller(reader, credentials, now: now)
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(id, reader)
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    guard file.kind == .document else { throw Refusal.notADocument }
    if let version, version != file.contentVersion {
      if let found = try Versions.find(reader, id, version) {
        return StoredContent(
          owner: file.owner, version: version, byteCount: found.byteCount, place: found.place)
      }
      // A client that has just been told of this version gets it while its bytes or its object are there.
      if let bytes = try FormerContents.find(reader, (id, version), of: file.owner, now: now) {
        return StoredContent(
          owner: file.owner, version: version, byteCount: Int64(bytes.count), place: .bytes(bytes))
      }
      guard let found = try Garbage.find(reader, (id, version)) else {
        throw ContentRefusal.versionNotFound
      }
      return StoredContent(
        owner: file.owner, version: version, byteCount: found.byteCount,
        place: .object(found.object), isLeaving: true)
    }
    let place: StoredContent.Place
    if let objectID = file.objectID {
      place = .object(objectID)
    } else {
      let bytes = try reader.first(
        "SELECT bytes FROM sync.inline_contents WHERE file_id = $1", .id(id)
      ) { row in try row.blob(0) }
      place = .bytes(bytes ?? [])
    }
    return StoredContent(
      owner: file.owner, version: file.contentVersion, byteCount: file.contentByteCount,
      place: place)
  }
}

/// Restores a version by an operator, who has no key: the restored content has no author.
package enum OperatorRestore {
  /// Makes an earlier version of a document its content again. The account's row must be locked.
  ///
  /// - Returns: The versions of the document before and after.
  /// - Throws: A `Refusal` if the account has no such document or version, or an `AccountRefusal` if it does not fit.
  package static func perform(
    _ transaction: Transaction, _ id: Identifier, of account: Identifier, version: Int64,
    catalogue: Catalogue, now: Instant
  ) throws -> (before: Int64, after: Int64) {
    var tree = AncestorTree(seenBy: account)
    let file = try tree.file(id, transaction)
    guard file.owner == account else { throw Refusal.fileNotFound }
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    var owners = try LockedOwners(
      transaction, Set(try Share.accounts(transaction, of: id, in: .pending) + [account]))
    let source = try Contents.take(transaction, version, of: file, &owners)
    let after = try Contents.put(
      transaction, file, source, by: nil, askedBy: account, &owners, catalogue: catalogue, now: now)
    return (file.contentVersion, after)
  }
}
