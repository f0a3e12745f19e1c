import Base
import Crypto
import Objects
import S3
import TestBuckets
import TestEngines
import Testing

/// A bucket and a directory as one store, while objects move from one to the other.
@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketPairTests {
  private let scratch: ScratchDirectory
  private let history = Identifier(high: 7, low: 7)

  init() throws { scratch = try ScratchDirectory() }

  private func place(_ bucket: TestBucket, isMain: Bool) -> ObjectsPlace {
    let directory = ObjectsPlace.Part(.directory(scratch.path + "/objects"), nil)
    let service = ObjectsPlace.Part(bucket.fresh(), TestBucket.keys)
    return isMain
      ? ObjectsPlace(service, also: directory) : ObjectsPlace(directory, also: service)
  }

  private func turned(_ place: ObjectsPlace) throws -> ObjectsPlace {
    ObjectsPlace(try #require(place.also), also: place.main)
  }

  @Test(arguments: TestBucket.all, [true, false])
  func `neither store is opened alone before the move is done`(
    _ bucket: TestBucket, _ isMain: Bool
  ) throws {
    let place = place(bucket, isMain: isMain)
    let pair = try #require(try ObjectStores.serve(place, isFirst: true) as? PairStore)
    try pair.belong(to: history)
    let parts = [place.main, try #require(place.also)]
    for part in parts {
      let failure = #expect(throws: ObjectStoreError.self) {
        try ObjectStores.open(ObjectsPlace(part))
      }
      #expect("\(try #require(failure))".contains("set COFFER_OBJECTS_ALSO"))
    }
    try pair.finish()
    _ = try ObjectStores.open(ObjectsPlace(parts[0]))
    #expect(throws: ObjectStoreError.self) { try ObjectStores.open(ObjectsPlace(parts[1])) }
  }

  @Test(arguments: TestBucket.all, [true, false])
  func `an upload continues where it began`(_ bucket: TestBucket, _ isMain: Bool) throws {
    let place = place(bucket, isMain: isMain)
    let (key, bytes) = (Random.identifier(), Random.bytes(9_000_000))
    let pair = try ObjectStores.serve(place, isFirst: true)
    let first = try pair.resume(key, at: ObjectCheckpoint(byteCount: 0, state: []))
    try first.write(all: bytes.prefix(8_700_000))
    let checkpoint = try first.checkpoint(isLast: true)
    first.suspend()
    let other = try ObjectStores.open(turned(place))
    let second = try other.resume(key, at: checkpoint)
    try second.write(all: bytes.dropFirst(Int(checkpoint.byteCount)))
    try second.finish()
    let isWhole = try pair.bytes(of: key) == bytes
    #expect(isWhole)
    let store = try #require(pair as? PairStore)
    #expect(try store.main.open(key) != nil)
    #expect(try store.also.open(key) == nil)
    try pair.delete(key)
    #expect(try other.open(key) == nil)
  }
}
