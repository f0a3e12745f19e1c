import Base
import Crypto
import Glibc
import Objects
import S3
import Testing

/// The S3 services that `ops/objects` started, if any: the environment variable COFFER_TEST_BUCKETS names them.
struct TestBucket: Sendable, CustomTestStringConvertible {
  /// The name of a new prefix in the bucket.
  let text: String
  let testDescription: String

  static let keys = BucketKeys("coffertest:coffertestsecret")

  static let all: [TestBucket] = {
    guard let names = unsafe getenv("COFFER_TEST_BUCKETS") else { return [] }
    return unsafe String(cString: names).split(separator: " ").enumerated().map { index, name in
      TestBucket(text: String(name), testDescription: index == 0 ? "SeaweedFS" : "rclone")
    }
  }()

  /// A location that no one else has.
  func fresh() -> ObjectsLocation {
    let halves = text.split(separator: "?", maxSplits: 1)
    return ObjectsLocation("\(halves[0])/\(Random.identifier())?\(halves[1])")!
  }

  func start() throws -> any ObjectStore {
    try ObjectStores.serve(fresh(), Self.keys, isFirst: true)
  }
}

extension ObjectStore {
  func store(_ bytes: [UInt8], as key: Identifier) throws {
    let writer = try create(key)
    var start = 0
    while start < bytes.count {
      let end = min(start + 100_000, bytes.count)
      try unsafe writer.write(bytes[start..<end].span.bytes)
      start = end
    }
    try writer.finish()
  }
}
