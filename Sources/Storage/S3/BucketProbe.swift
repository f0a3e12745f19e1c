import Base
import Crypto
import HTTPClient
import HTTPMessages
import Objects

/// What a service does, found by trying before anything depends on it. Nothing is assumed by its name.
enum BucketProbe {
  /// Writes, lists, reads and deletes one object. Throws what Coffer cannot do without, and logs what it can.
  static func run(_ client: BucketClient) throws(ObjectStoreError) {
    let key = "probe/\(Random.identifier())"
    // Some services would make a bucket of a mistyped name to write there.
    try client.objects(below: key) { _, _, _, _ in }
    _ = try client.put(key, "coffer", isNew: true)
    let refusesSecond = try !client.put(key, "COFFER", isNew: true)
    var isListed = false
    try client.objects(below: key) { _, _, _, _ in isListed = true }
    guard isListed else {
      throw .misconfigured(reason: "the object store does not list what was just written")
    }
    let part = try client.send("GET", key, headers: [("Range", "bytes=2-3")])
    guard part.status == 206 || part.status == 200, part.body.count == 2,
      part.headers.text("content-range") == "bytes 2-3/6"
    else { throw .misconfigured(reason: "the object store does not answer with parts of objects") }
    if client.sendsMD5 { try requireComparison(client, key) }
    let wrong = try client.send(
      "PUT", key,
      headers: [("x-amz-checksum-sha256", Base64.standard.encode(SHA256.hash([])))],
      body: .bytes([1]), digest: SHA256.hash([1]))
    try client.delete(key)
    guard try client.head(key) == nil else {
      throw .misconfigured(reason: "the object store does not delete")
    }
    Log.info(
      "objects.probe",
      [
        "bucket": client.address.bucket, "refuses_second_write": "\(refusesSecond)",
        "refuses_wrong_checksum": "\((400..<500).contains(wrong.status))",
      ])
  }

  /// Without TLS, nobody but the service can tell that bytes changed on the way.
  private static func requireComparison(
    _ client: BucketClient, _ key: String
  ) throws(ObjectStoreError) {
    let id = try client.beginParts(key)
    let wrong = try client.send(
      "PUT", key, query: [("partNumber", "1"), ("uploadId", id)],
      headers: BodyDigest([], withMD5: true).headers, body: .bytes([1]), digest: SHA256.hash([1]))
    try client.abort(key, id)
    guard (400..<500).contains(wrong.status) else {
      throw .misconfigured(
        reason:
          "the object store takes bytes that changed on the way: give it an https endpoint")
    }
  }
}
