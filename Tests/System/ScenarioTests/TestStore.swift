import Base
import Crypto
import Objects
import S3
import TestBuckets
import Testing

/// Where an installation of a test has its objects: in a directory, or in a bucket if there are S3 services.
struct TestStore: Sendable, CustomTestStringConvertible {
  /// Nil for a directory.
  let bucket: TestBucket?

  static let directory = TestStore(bucket: nil)
  /// The service that keeps to the contract, if there is one.
  static let buckets: [TestStore] = TestBucket.all.prefix(1).map { TestStore(bucket: $0) }
  static let all = [directory] + buckets
  /// With the careless services, too.
  static let everywhere = [directory] + TestBucket.all.map { TestStore(bucket: $0) }

  var testDescription: String { bucket?.description ?? "directory" }

  /// A location that no one else has; a directory is made in `home`.
  func location(in home: String) -> String {
    bucket?.freshName() ?? "file://\(home)/\(Random.identifier())"
  }

  /// The settings of a place of its own; none for the installation's own directory.
  var settings: [String: String] {
    bucket.map {
      ["COFFER_OBJECTS": $0.freshName(), "COFFER_OBJECTS_KEY": TestBucket.keyText]
    } ?? [:]
  }

  static func place(_ location: String, also: String? = nil) throws -> ObjectsPlace {
    ObjectsPlace(
      .init(try #require(ObjectsLocation(location)), TestBucket.keys),
      also: try also.map { .init(try #require(ObjectsLocation($0)), TestBucket.keys) })
  }

  static func keys(of store: any ObjectStore) throws -> Set<Identifier> {
    Set(try (UInt8.min...UInt8.max).flatMap { try store.list(beginningWith: $0).map(\.key) })
  }
}
