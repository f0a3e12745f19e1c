import Objects
import TestBuckets
import TestEngines
import Testing

/// Where contents are in a test: the engine of the small ones and of all rows, and the store of the large ones.
struct ContentPlace: Sendable, CustomTestStringConvertible {
  let engine: TestEngine
  /// Nil for a directory.
  let bucket: TestBucket?

  /// A directory with each engine, and each S3 service with one of them.
  static let all =
    TestEngine.available.map { ContentPlace(engine: $0, bucket: nil) }
    + TestEngine.byTurns(TestBucket.all).map { ContentPlace(engine: $1, bucket: $0) }

  var testDescription: String { "\(engine), \(bucket?.description ?? "directory")" }

  /// A store that no one else has; nil for a directory, which the server makes.
  var store: (any ObjectStore)? { get throws { try bucket?.start() } }
}
