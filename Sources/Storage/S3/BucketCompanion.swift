import HTTPClient
import HTTPMessages
import Objects

extension BucketStore {
  private static let companion = "companion"

  func companion() throws(ObjectStoreError) -> String? {
    let reply = try client.send("GET", Self.companion) { reply in
      reply.status != 200 || BucketClient.isComplete(reply)
    }
    if reply.status == 404, BucketClient.code(of: reply) != "NoSuchBucket" { return nil }
    guard reply.status == 200 else { throw client.refusal(reply) }
    return String(decoding: reply.body.prefix { $0 != 10 }, as: UTF8.self)
  }

  func setCompanion(_ location: String?) throws(ObjectStoreError) {
    if let location {
      _ = try client.put(Self.companion, "\(location)\n")
    } else {
      try client.delete(Self.companion)
    }
  }
}
