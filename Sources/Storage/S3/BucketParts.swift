import Base
import Crypto
import HTTPClient
import HTTPMessages
import Objects
import XML

extension BucketClient {
  static let partCountMax = 10_000
  /// What a part may take, at 128 KiB a second.
  static let partSpan = Instant.Span.seconds(90)

  func beginParts(_ key: String) throws(ObjectStoreError) -> String {
    let reply = try send("POST", key, query: [("uploads", "")], body: .bytes([]))
    guard reply.status == 200, let id = XMLElement(reply.body)?["UploadId"]?.text, Self.fits(id)
    else { throw refusal(reply) }
    return id
  }

  /// Returns the part's ETag. `.incomplete`: there is no such upload any more.
  func sendPart(
    _ bytes: SpooledBytes, number: Int, of id: String, _ key: String
  ) throws(ObjectStoreError) -> String {
    guard number <= Self.partCountMax else {
      throw .misconfigured(reason: "the content is larger than a bucket can store in parts")
    }
    let digest = try bytes.digest(withMD5: sendsMD5)
    let reply = try send(
      "PUT", key, query: [("partNumber", String(number)), ("uploadId", id)],
      headers: digest.headers, body: .file(bytes.file, range: 0..<bytes.byteCount),
      digest: digest.sha256, within: Self.partSpan)
    if Self.code(of: reply) == "NoSuchUpload" { throw .incomplete }
    guard reply.status == 200, let tag = reply.headers.text("etag"), Self.fits(tag) else {
      throw refusal(reply)
    }
    return tag
  }

  private static func fits(_ text: String) -> Bool { (1...255).contains(text.utf8.count) }

  /// Only an ETag in the answer is success: the status comes too early. If an earlier attempt took effect, the object
  /// shows it. `.incomplete`: the upload is gone, or a part is another than the one of this ETag.
  func completeParts(_ key: String, _ id: String, _ tags: [String]) throws(ObjectStoreError) {
    var text = "<CompleteMultipartUpload>"
    for (index, tag) in tags.enumerated() {
      let escaped = tag.split(separator: "&", omittingEmptySubsequences: false)
        .joined(separator: "&amp;").split(separator: "<", omittingEmptySubsequences: false)
        .joined(separator: "&lt;")
      text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(escaped)</ETag></Part>"
    }
    let body = Array((text + "</CompleteMultipartUpload>").utf8)
    let reply = try send(
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
    switch Self.code(of: reply) {
    case "InvalidPart", "NoSuchUpload": throw .incomplete
    case _ where [409, 412].contains(reply.status): throw .incomplete
    default: throw refusal(reply)
    }
  }

  /// Ends an upload in parts. It is not an error if there is none.
  func abort(_ key: String, _ id: String) throws(ObjectStoreError) {
    let reply = try send("DELETE", key, query: [("uploadId", id)])
    guard (200..<300).contains(reply.status) || reply.status == 404 else { throw refusal(reply) }
  }
}
