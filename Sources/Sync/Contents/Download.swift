internal import Base
internal import HTTPMessages
internal import Objects
internal import Storage

/// An object of another machine, whose blocks the pool fetches.
private struct FetchedObject: BlockSource {
  let object: any DistantObject
  let owner: Identifier
  let pool: WorkPool

  func fetch(
    _ range: Range<Int64>, _ done: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
  ) {
    let accepted = pool.submit(for: owner) { [object] in done(Result { try object.read(range) }) }
    if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
  }
}

/// Sends all or a part of a document's content, without copying large content through memory.
struct Download {
  private let tag: EntityTag
  private let body: Response.Body

  init(_ found: Contents.Found, _ objects: any ObjectStore, pool: WorkPool) throws {
    tag = EntityTag(version: found.version)
    switch found.place {
    case .bytes(let bytes): body = .bytes(bytes)
    case .object(let id):
      // Replaced content stays for minutes after its row changed, so a missing object is damage, not a race.
      guard let file = try objects.open(id) else {
        if found.isLeaving { throw Refusal.versionNotFound }
        Log.error("content.missing", ["object": id.description])
        throw Refusal.contentMissing
      }
      // A success status would make a truncated content look complete.
      guard file.byteCount == found.byteCount else {
        Log.error("content.damaged", ["object": id.description])
        throw Refusal.contentMissing
      }
      switch file {
      case .file(let file): body = .file(file, range: 0..<file.byteCount)
      case .distant(let object):
        body = .blocks(
          FetchedObject(object: object, owner: found.owner, pool: pool), range: 0..<object.byteCount
        )
      }
    }
  }

  /// 200; 206 for a range; 304 for content that the client has.
  func response(to head: RequestHead) throws -> Response {
    switch try Preconditions(head.headers).evaluate(current: tag, isSafe: true) {
    case .holds:
      return try .content(
        body, tag: tag, for: head, headers: [("Content-Type", "application/octet-stream")])
    case .notModified:
      return Response(status: 304, headers: [("ETag", tag.field)], body: .bytes([]))
    case .failed:
      throw Refusal.versionChanged(current: Int64(tag.opaque) ?? 0)
    }
  }
}
