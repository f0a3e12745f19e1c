package import Base
package import HTTPMessages
package import Objects
import Storage

/// An object of another machine, whose blocks the pool fetches.
private struct FetchedObject: BlockSource {
  let object: any DistantObject
  let owner: Identifier
  let pool: WorkPool
  let blockByteCountMax = ObjectParts.blockByteCount

  func fetch(
    _ range: Range<Int64>, _ done: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
  ) {
    let accepted = pool.submit(for: owner) { [object] in done(Result { try object.read(range) }) }
    if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
  }
}

/// Sends all or a part of a content, without copying large content through memory.
package struct Download {
  static let missing = Metrics.shared.counter(
    "coffer_contents_missing_total",
    "Requests for contents that the object store does not have, or has with another length.")

  private let tag: EntityTag
  private let body: Response.Body
  /// Where the client may fetch the content itself; nil if the server sends it.
  private let link: String?

  /// `givesLinks`: the client may be sent to the object store, if that is configured.
  package init(
    _ found: StoredContent, _ objects: any ObjectStore, pool: WorkPool, givesLinks: Bool = true
  ) throws {
    tag = EntityTag(version: found.version)
    switch found.place {
    case .bytes(let bytes): (body, link) = (.bytes(bytes), nil)
    case .object(let id):
      // Replaced content stays for minutes after its row changed, so a missing object is damage, not a race.
      guard let file = try objects.open(id) else {
        if found.isLeaving { throw ContentRefusal.versionNotFound }
        Log.error("content.missing", ["object": id.description])
        Self.missing.add()
        throw ContentRefusal.contentMissing
      }
      // A success status would make a truncated content look complete.
      guard file.byteCount == found.byteCount else {
        Log.error("content.damaged", ["object": id.description])
        Self.missing.add()
        throw ContentRefusal.contentMissing
      }
      switch file {
      case .file(let file): (body, link) = (.file(file, range: 0..<file.byteCount), nil)
      case .distant(let object):
        link = givesLinks ? object.link() : nil
        body = .blocks(
          FetchedObject(object: object, owner: found.owner, pool: pool), range: 0..<object.byteCount
        )
      }
    }
  }

  /// 200; 206 for a range; 304 if the client has it; 307 to where it may fetch it. And the bytes that it gets.
  package func response(to head: RequestHead) throws -> (response: Response, byteCount: Int64) {
    switch try Preconditions(head.headers).evaluate(current: tag, isSafe: true) {
    case .holds:
      let response = try Response.content(
        body, tag: tag, for: head, headers: [("Content-Type", "application/octet-stream")])
      let byteCount = response.body.byteCount
      guard head.method != "HEAD" else { return (response, 0) }
      guard let link else { return (response, byteCount) }
      return (
        Response(
          status: 307,
          headers: [("Location", link), ("ETag", tag.field)],
          body: .bytes([])), byteCount
      )
    case .notModified:
      return (.notModified(body, headers: [("ETag", tag.field)]), 0)
    case .failed:
      throw ContentRefusal.versionChanged(current: Int64(tag.opaque) ?? 0)
    }
  }
}
