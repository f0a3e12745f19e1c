internal import Base
internal import Crypto
internal import HTTPClient
internal import HTTPMessages
internal import Objects
internal import XML

/// The sending of one object: in one request, or in parts if it is large.
struct BucketUpload {
  /// Every part but the last has this size: some services require equal parts of at least 5 MiB.
  static let partByteCount: Int64 = 8 << 20
  /// What a part may take, at 128 KiB a second.
  private static let partSpan = Instant.Span.seconds(90)

  let client: BucketClient
  let key: String
  let spool: SpoolFile

  /// Returns once the store reports the object with its length.
  func run() throws(ObjectStoreError) {
    var digest: [UInt8]?
    if spool.byteCount <= Self.partByteCount {
      let all = try spool.digest(of: 0..<spool.byteCount)
      digest = all
      // The key is ours alone. So what is there already is from an attempt whose answer was lost.
      _ = try client.put(
        key, .file(spool.file(), range: 0..<spool.byteCount), digest: all, isNew: true,
        within: Self.partSpan)
    } else {
      try sendParts()
    }
    guard let head = try client.head(key) else {
      throw .unavailable(reason: "the object store does not have what it has taken")
    }
    guard head.headers.text("content-length") == String(spool.byteCount),
      head.headers.text("x-amz-checksum-sha256").map({ sum in
        digest.map { Base64.standard.encode($0) == sum } ?? true
      }) ?? true
    else { throw .unavailable(reason: "the object store has other bytes than it was sent") }
  }

  private func sendParts() throws(ObjectStoreError) {
    let begun = try client.send("POST", key, query: [("uploads", "")], body: .bytes([]))
    guard begun.status == 200, let id = XMLElement(begun.body)?["UploadId"]?.text, !id.isEmpty
    else {
      throw client.refusal(begun)
    }
    do throws(ObjectStoreError) {
      var tags: [String] = []
      var start: Int64 = 0
      while start < spool.byteCount {
        let end = min(start + Self.partByteCount, spool.byteCount)
        tags.append(try sendPart(start..<end, number: tags.count + 1, of: id))
        start = end
      }
      try complete(id, tags)
    } catch {
      try? client.abort(key, id)
      throw error
    }
  }

  private func sendPart(
    _ range: Range<Int64>, number: Int, of id: String
  ) throws(ObjectStoreError) -> String {
    let reply = try client.send(
      "PUT", key, query: [("partNumber", String(number)), ("uploadId", id)],
      body: .file(spool.file(), range: range), digest: try spool.digest(of: range),
      within: Self.partSpan)
    guard reply.status == 200, let tag = reply.headers.text("etag"), !tag.isEmpty else {
      throw client.refusal(reply)
    }
    return tag
  }

  /// Only an ETag in the answer is success: the status comes before the service knows. If an attempt before took
  /// effect, there is no such upload any more; then the object shows it.
  private func complete(_ id: String, _ tags: [String]) throws(ObjectStoreError) {
    var text = "<CompleteMultipartUpload>"
    for (index, tag) in tags.enumerated() {
      let escaped = tag.split(separator: "&", omittingEmptySubsequences: false)
        .joined(separator: "&amp;").split(separator: "<", omittingEmptySubsequences: false)
        .joined(separator: "&lt;")
      text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(escaped)</ETag></Part>"
    }
    let body = Array((text + "</CompleteMultipartUpload>").utf8)
    let reply = try client.send(
      "POST", key, query: [("uploadId", id)], headers: [("Content-Type", "application/xml")],
      body: .bytes(body), digest: SHA256.hash(body), within: .seconds(120)
    ) { reply in
      reply.status != 200 || XMLElement(reply.body) != nil
    }
    let answer = XMLElement(reply.body)
    if reply.status == 200, answer?.name == "CompleteMultipartUploadResult",
      answer?["ETag"]?.text.isEmpty == false
    {
      return
    }
    guard
      BucketClient.code(of: reply) == "NoSuchUpload" || reply.status == 409 || reply.status == 412,
      try client.head(key) != nil
    else { throw client.refusal(reply) }
  }
}

extension BucketClient {
  /// Ends an upload in parts. It is not an error if there is none.
  func abort(_ key: String, _ id: String) throws(ObjectStoreError) {
    let reply = try send("DELETE", key, query: [("uploadId", id)])
    guard (200..<300).contains(reply.status) || reply.status == 404 else { throw refusal(reply) }
  }
}
