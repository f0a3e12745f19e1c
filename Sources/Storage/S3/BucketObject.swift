import Base
import HTTPClient
import HTTPMessages
import Objects

/// An object of a bucket, read by ranges. It never changes under its key.
struct BucketObject: DistantObject {
  let client: BucketClient
  let key: String
  let byteCount: Int64
  /// Whether clients may read it from the service themselves.
  let isLinked: Bool

  private static let linkSeconds: Int64 = 60

  func link() -> String? {
    isLinked ? client.link(to: key, seconds: Self.linkSeconds) : nil
  }

  func read(_ range: Range<Int64>) throws(ObjectStoreError) -> [UInt8] {
    precondition(range.count <= ObjectParts.blockByteCount && range.upperBound <= byteCount)
    guard !range.isEmpty else { return [] }
    let bytes = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"
    let reply = try client.send(
      "GET", key, headers: [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
      within: .seconds(60)
    ) { reply in
      !(200..<300).contains(reply.status)
        || BucketClient.isComplete(reply) && reply.body.count == range.count
    }
    // Some services call a range 200.
    guard reply.status == 206 || reply.status == 200 else { throw client.refusal(reply) }
    guard reply.headers.text("content-range").map({ $0 == bytes }) ?? (range.count == byteCount)
    else { throw .unavailable(reason: "the object store answered with other bytes than asked for") }
    return reply.body
  }

  func fetch() throws(ObjectStoreError) -> OpenFile { try spool(byteCount).file() }

  func spool(_ byteCount: Int64) throws(ObjectStoreError) -> SpoolFile {
    let spool = try SpoolFile()
    var start: Int64 = 0
    while start < byteCount {
      let end = min(start + ObjectParts.blockByteCount, byteCount)
      let block = try read(start..<end)
      try spool.write(unsafe block.span.bytes)
      start = end
    }
    return spool
  }
}
