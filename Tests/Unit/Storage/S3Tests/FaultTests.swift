import Base
import BucketFaults
import Crypto
import Glibc
import Objects
import S3
import TestBuckets
import Testing

@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct FaultTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
  private static let large = [UInt8](repeating: 9, count: 9 << 20)

  @Test(arguments: TestBucket.all)
  func `a service that asks to slow down is asked again`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.busy, "PUT", "\(key)", count: 2)
    proxy.add(.busy, "HEAD", "\(key)", count: 2)
    proxy.add(.busy, "GET", "\(key)", count: 2)
    try store.store(Self.bytes, as: key)
    #expect(try store.bytes(of: key) == Self.bytes)
    #expect(proxy.hitCount == 6)
  }

  @Test(arguments: TestBucket.all)
  func `a service that stays busy ends the upload, and not for ever after`(_ bucket: TestBucket)
    throws
  {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.busy, "PUT", "\(key)", count: 5)
    let error = #expect(throws: ObjectStoreError.self) { try store.store([1], as: key) }
    #expect("\(try #require(error))".contains("503 SlowDown"))
    #expect(try store.open(key) == nil)
    try store.store([1], as: key)
  }

  @Test(arguments: TestBucket.all)
  func `bytes that changed on the way are no success`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.badDigest, "PUT", "\(key)")
    #expect(throws: ObjectStoreError.self) { try store.store(Self.bytes, as: key) }
    #expect(try store.open(key) == nil)
  }

  @Test(arguments: TestBucket.all)
  func `a body or a part of which a byte changed on the way is never taken`(
    _ bucket: TestBucket
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    for (bytes, part) in [
      (Self.bytes, ""), (Self.large, "partNumber=1"), (Self.large, "partNumber=2"),
    ] {
      let key = Random.identifier()
      proxy.add(.altered, "PUT", part.isEmpty ? "\(key)" : part)
      // A service that closes the connection while it refuses is asked again, and then takes the right bytes.
      do { try store.store(bytes, as: key) } catch is ObjectStoreError {
        #expect(try store.open(key) == nil)
        continue
      }
      let isRight = try store.bytes(of: key) == bytes
      #expect(isRight)
    }
    #expect(proxy.hitCount == 3)
  }

  @Test(arguments: TestBucket.all)
  func `a service that takes changed bytes is not used without TLS`(_ bucket: TestBucket) throws {
    let proxy = bucket.faultProxy()
    proxy.add(.page, "PUT", "partNumber=1")
    let error = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(bucket.fresh(through: proxy.port), TestBucket.keys, isFirst: true)
    }
    #expect(
      error
        == .misconfigured(
          reason: "the object store takes bytes that changed on the way: give it an https endpoint"
        ))
  }

  @Test(arguments: TestBucket.all)
  func `a failure in the body of a success is repeated`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.errorIn200, "POST", "\(key)?uploadId")
    try store.store(Self.large, as: key)
    #expect(try store.open(key)?.byteCount == Int64(Self.large.count))
    #expect(proxy.hitCount == 1)
  }

  @Test(arguments: TestBucket.all)
  func `an answer that is cut is read again, and never taken for the whole`(_ bucket: TestBucket)
    throws
  {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    try store.store(Self.bytes, as: key)
    proxy.add(.cut(after: 100_000), "GET", "\(key)", count: 2)
    #expect(try store.bytes(of: key) == Self.bytes)
    proxy.add(.cut(after: 100_000), "GET", "\(key)", count: 5)
    #expect(throws: ObjectStoreError.self) { try store.bytes(of: key) }
  }

  @Test(arguments: TestBucket.all)
  func `slow answers are waited for`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.slow(1500), "PUT", "\(key)")
    proxy.add(.slow(1500), "GET", "\(key)")
    try store.store(Self.bytes, as: key)
    #expect(try store.bytes(of: key) == Self.bytes)
    #expect(proxy.hitCount == 2)
  }

  @Test(arguments: TestBucket.all)
  func `a write whose answer was lost counts as done`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let (small, large) = (Random.identifier(), Random.identifier())
    proxy.add(.lostAnswer, "PUT", "\(small)")
    try store.store(Self.bytes, as: small)
    #expect(try store.bytes(of: small) == Self.bytes)
    proxy.add(.lostAnswer, "POST", "\(large)?uploadId")
    try store.store(Self.large, as: large)
    #expect(try store.open(large)?.byteCount == Int64(Self.large.count))
    #expect(proxy.hitCount == 2)
  }

  @Test(arguments: TestBucket.all)
  func `an upload in parts that fails is ended in the store`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.badDigest, "PUT", "partNumber=2")
    #expect(throws: ObjectStoreError.self) { try store.store(Self.large, as: key) }
    #expect(try store.leftovers(before: .distantFuture) == [])
    #expect(try store.open(key) == nil)
  }

  @Test(arguments: TestBucket.all)
  func `an upload in parts that no one ended is found and removed`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    proxy.add(.badDigest, "PUT", "partNumber=2")
    proxy.add(.busy, "DELETE", "\(key)", count: 5)
    #expect(throws: ObjectStoreError.self) { try store.store(Self.large, as: key) }
    #expect(try store.leftovers(before: .distantFuture) == [key])
    #expect(try store.leftovers(before: .distantPast) == [])
    try store.deleteLeftover(key)
    #expect(try store.leftovers(before: .distantFuture) == [])
  }

  @Test(arguments: TestBucket.all)
  func `a service that knows no upload in parts has none to remove`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    proxy.add(.noSuchUpload, "GET", "uploads=", count: 2)
    #expect(try store.leftovers(before: .distantFuture) == [])
    try store.deleteLeftover(Random.identifier())
    #expect(proxy.hitCount == 2)
  }

  @Test(arguments: TestBucket.all)
  func `a service that does not list what was written is refused`(_ bucket: TestBucket) throws {
    let proxy = bucket.faultProxy()
    proxy.add(.emptyList, "GET", "list-type=2", count: 2)
    let error = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(bucket.fresh(through: proxy.port), TestBucket.keys, isFirst: true)
    }
    #expect(
      error == .misconfigured(reason: "the object store does not list what was just written"))
  }

  @Test(arguments: TestBucket.all, [.page, .brokenList] as [FaultProxy.Fault])
  func `an answer that is no whole list is never taken for an empty one`(
    _ bucket: TestBucket, _ fault: FaultProxy.Fault
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    proxy.add(fault, "GET", "list-type=2", count: 5)
    #expect(throws: ObjectStoreError.self) { try store.list(beginningWith: 0) }
    proxy.recover()
    #expect(try store.list(beginningWith: 0).isEmpty)
  }

  @Test(arguments: TestBucket.all)
  func `a list that goes on where it was already ends the reading`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let elements = "<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>"
    proxy.add(.list(elements), "GET", "list-type=2", count: 100)
    let error = #expect(throws: ObjectStoreError.self) { try store.list(beginningWith: 0) }
    #expect(
      error == .unavailable(reason: "the object store's list comes back to where it was"))
    #expect(proxy.hitCount == 2)
  }

  @Test(arguments: TestBucket.all)
  func `keys that expire are named as such, by requests and by the check of readiness`(
    _ bucket: TestBucket
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    let key = Random.identifier()
    try store.store(Self.bytes, as: key)
    try store.check()
    for method in ["PUT", "GET", "HEAD"] { proxy.add(.expired, method, count: 100) }
    let expired = ObjectStoreError.misconfigured(
      reason: "the keys of the object store have expired")
    #expect(throws: expired) { try store.store(Self.bytes, as: Random.identifier()) }
    // As a command does, e.g. doctor.
    #expect(throws: expired) {
      try ObjectStores.open(bucket.fresh(through: proxy.port), TestBucket.keys)
    }
    #expect(throws: ObjectStoreError.self) { try store.open(key) }
    let deadline = MonotonicTime.now() + .seconds(90)
    func check() -> ObjectStoreError? {
      do throws(ObjectStoreError) { try store.check() } catch { return error }
      return nil
    }
    while check() == nil {
      try #require(MonotonicTime.now() < deadline)
      usleep(100_000)
    }
    #expect(check() == expired)
    proxy.recover()
    #expect(try store.bytes(of: key) == Self.bytes)
  }
}
