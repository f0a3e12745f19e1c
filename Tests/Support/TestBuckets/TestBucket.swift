package import Base
package import BucketFaults
import Crypto
import Glibc
package import Objects
package import S3

/// The S3 services that `ops/objects` started, if any: the environment variable COFFER_TEST_BUCKETS names them.
package struct TestBucket: Sendable, CustomStringConvertible {
  package static let keyText = "coffertest:coffertestsecret"
  package static let keys = BucketKeys(keyText)

  package static let all = Array(started.prefix(2))
  /// Behind TLS, with an authority that the system does not trust.
  package static let encrypted = started.dropFirst(2).first

  private static let started: [TestBucket] = {
    guard let names = unsafe getenv("COFFER_TEST_BUCKETS") else { return [] }
    let texts = unsafe String(cString: names).split(separator: " ").map(String.init)
    return zip(texts, ["SeaweedFS", "rclone", "rclone behind TLS"]).map {
      TestBucket(text: $0, description: $1)
    }
  }()

  /// The setting that names the whole bucket.
  package let text: String
  package let description: String

  /// The setting for a part of the bucket that no one else has. `proxy` is a port of this machine to go through.
  package func freshName(through proxy: UInt16? = nil) -> String {
    let halves = text.split(separator: "?", maxSplits: 1)
    let options = proxy.map { "region=us-east-1&endpoint=http://127.0.0.1:\($0)" }
    return "\(halves[0])/\(Random.identifier())?\(options ?? String(halves[1]))"
  }

  package func fresh(through proxy: UInt16? = nil) -> ObjectsLocation {
    ObjectsLocation(freshName(through: proxy))!
  }

  package func start() throws -> any ObjectStore {
    try ObjectStores.serve(fresh(), Self.keys, isFirst: true)
  }

  /// A store before which faults can be put.
  package func startFaulty() throws -> (store: any ObjectStore, proxy: FaultProxy) {
    let proxy = faultProxy()
    return (
      try ObjectStores.serve(fresh(through: proxy.port), Self.keys, isFirst: true), proxy
    )
  }

  package func faultProxy() -> FaultProxy {
    FaultProxy(before: UInt16(text.split(separator: ":").last!)!)!
  }
}

extension ObjectStores {
  package static func open(
    _ location: ObjectsLocation, _ keys: BucketKeys?
  ) throws(ObjectStoreError) -> any ObjectStore {
    try open(ObjectsPlace(.init(location, keys)))
  }

  package static func serve(
    _ location: ObjectsLocation, _ keys: BucketKeys?, isFirst: Bool, givesLinks: Bool = false
  ) throws(ObjectStoreError) -> any ObjectStore {
    try serve(ObjectsPlace(.init(location, keys)), isFirst: isFirst, givesLinks: givesLinks)
  }
}

extension ObjectStore {
  /// Stores an object.
  package func store(_ bytes: [UInt8], as key: Identifier) throws {
    let writer = try create(key)
    try writer.write(all: bytes)
    try writer.finish()
  }

  /// The bytes of an object; nil if there is none.
  package func bytes(of key: Identifier) throws -> [UInt8]? {
    guard let file = try open(key)?.file() else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(file.byteCount))
    let count = unsafe pread(file.descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }
}

extension ObjectWriter {
  /// Writes as a connection does, piece by piece.
  package func write(all bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    var start = 0
    while start < bytes.count {
      let end = min(start + 100_000, bytes.count)
      try unsafe write(bytes.span.bytes.extracting(start..<end))
      start = end
    }
  }
}
