internal import Base
internal import HTTPMessages
internal import Storage

/// Sends a document's content, whole or in part, without copying large content through memory.
struct Download {
  private let tag: EntityTag
  private let byteCount: Int64
  private let slice: (Range<Int64>) -> Response.Body

  init(_ found: Contents.Found, _ objects: ObjectStore) throws {
    tag = Contents.tag(found.version)
    switch found.place {
    case .bytes(let bytes):
      byteCount = Int64(bytes.count)
      slice = { range in .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])) }
    case .object(let id):
      // Replaced content outlives its row by minutes, so a missing object is damage, not a race.
      guard let file = try objects.open(id) else {
        Log.error("content.missing", ["object": id.description])
        throw Refusal.contentMissing
      }
      byteCount = file.byteCount
      slice = { range in .file(file, range: range) }
    }
  }

  /// 200, or 206 for a range, 304 for content the client has, 416 for a range outside it.
  func response(to head: RequestHead) throws(Refusal) -> Response {
    let validators = [(name: "ETag", value: tag.text), (name: "Accept-Ranges", value: "bytes")]
    if let condition = head.headers.text("if-none-match").flatMap(EntityTag.Condition.init),
      condition.matchesWeakly(tag)
    {
      return Response(status: 304, headers: validators, body: .bytes([]))
    }
    let type = (name: "Content-Type", value: "application/octet-stream")
    switch ByteRange(range(head), byteCount: byteCount) {
    case .whole:
      return Response(status: 200, headers: validators + [type], body: slice(0..<byteCount))
    case .part(let range):
      let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"
      return Response(
        status: 206, headers: validators + [type, ("Content-Range", place)], body: slice(range))
    case .unsatisfiable:
      throw Refusal.rangeOutside(byteCount: byteCount)
    }
  }

  /// The Range field, unless If-Range says it is meant for other content (RFC 9110, 13.1.5).
  private func range(_ head: RequestHead) -> String? {
    if let condition = head.headers.text("if-range"), condition != tag.text { return nil }
    return head.headers.text("range")
  }
}
