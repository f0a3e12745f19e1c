import Base
import Crypto
import HTTPClient
import Objects
import S3
import SeededRandom
import TestBuckets
import Testing

@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketStoreTests {
  private static func bytes(_ count: Int) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(count))
    return random.bytes(count: count)
  }

  @Test(arguments: TestBucket.all, [0, 1, 70_000, 8 << 20, (8 << 20) + 1, 20 << 20])
  func `an object of any size is read as it was written`(_ bucket: TestBucket, _ size: Int) throws {
    let store = try bucket.start()
    let (key, bytes) = (Random.identifier(), Self.bytes(size))
    #expect(try store.open(key) == nil)
    try store.store(bytes, as: key)
    let object = try #require(try store.open(key))
    #expect(object.byteCount == Int64(size))
    let isWhole = try store.bytes(of: key) == bytes
    #expect(isWhole)
    try store.delete(key)
    #expect(try store.open(key) == nil)
    try store.delete(key)
  }

  @Test(arguments: TestBucket.all)
  func `a content that reads like a failure is a content`(_ bucket: TestBucket) throws {
    let (store, key) = (try bucket.start(), Random.identifier())
    let content = Array("<Error><Code>SlowDown</Code></Error>".utf8)
    try store.store(content, as: key)
    #expect(try store.bytes(of: key) == content)
  }

  @Test(arguments: TestBucket.all)
  func `a range is exactly the bytes that were asked for`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let (key, bytes) = (Random.identifier(), Self.bytes(100_000))
    try store.store(bytes, as: key)
    guard case .distant(let object) = try #require(try store.open(key)) else {
      Issue.record("not of another machine")
      return
    }
    #expect(try object.read(0..<1) == Array(bytes[0..<1]))
    #expect(try object.read(99_990..<100_000) == Array(bytes[99_990...]))
    #expect(try object.read(0..<100_000) == bytes)
  }

  @Test(arguments: TestBucket.all)
  func `an upload that is dropped leaves nothing behind`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let key = Random.identifier()
    do {
      let writer = try store.create(key)
      try unsafe writer.write(Self.bytes(1000).span.bytes)
    }
    #expect(try store.open(key) == nil)
    #expect(try store.leftovers(before: .distantFuture) == [])
  }

  @Test(arguments: TestBucket.all)
  func `objects are listed by the first byte of their keys`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let keys = (0..<5).map { Identifier(high: 0xab << 56 | UInt64($0) << 40, low: 7) }
    for key in keys { try store.store([1, 2], as: key) }
    try store.store([1], as: Identifier(high: 0xac << 56, low: 1))
    let listed = try store.list(beginningWith: 0xab)
    #expect(listed.map(\.key).sorted() == keys)
    #expect(listed.allSatisfy { $0.byteCount == 2 })
    let now = Clock.system.now()
    #expect(listed.allSatisfy { $0.written > now - .minutes(5) && $0.written < now + .minutes(5) })
  }

  @Test(arguments: TestBucket.all)
  func `processes that share a bucket see one another run, and end`(_ bucket: TestBucket) throws {
    let location = bucket.fresh()
    let store = try ObjectStores.serve(location, TestBucket.keys, isFirst: true)
    var other: (any ObjectStore)? = try ObjectStores.open(location, TestBucket.keys)
    let name = try #require(other?.instance)
    #expect(other?.isRunning(store.instance) == true)
    #expect(store.isRunning(name))
    other = nil
    let third = try ObjectStores.open(location, TestBucket.keys)
    #expect(third.isRunning(store.instance))
    try store.check()
  }

  @Test(arguments: TestBucket.all)
  func `a hold is seen until it is released`(_ bucket: TestBucket) throws {
    let location = bucket.fresh()
    let store = try ObjectStores.serve(location, TestBucket.keys, isFirst: true)
    let other = try ObjectStores.open(location, TestBucket.keys)
    #expect(try !store.isHeld())
    var hold: (any ObjectHold)? = try other.hold()
    #expect(try store.isHeld())
    try hold?.check()
    hold = nil
    #expect(try !store.isHeld())
  }

  @Test(arguments: TestBucket.all)
  func `a bucket in use is no other database's`(_ bucket: TestBucket) throws {
    let location = bucket.fresh()
    let (first, second) = (Random.identifier(), Random.identifier())
    var store: (any ObjectStore)? = try ObjectStores.serve(
      location, TestBucket.keys, isFirst: true)
    try store?.belong(to: first)
    try store?.belong(to: first)
    let other = try ObjectStores.serve(location, TestBucket.keys, isFirst: false)
    #expect(throws: ObjectStoreError.self) { try other.belong(to: second) }
    store = nil
    try other.belong(to: second)
    #expect(try other.owner()?.history == second)
  }

  @Test(.enabled(if: TestBucket.encrypted != nil, "ops/objects started no service behind TLS"))
  func `a service behind TLS is trusted by the authority that the setting names, only`() throws {
    let bucket = try #require(TestBucket.encrypted)
    let (store, key) = (try bucket.start(), Random.identifier())
    try store.store(Self.bytes(70_000), as: key)
    #expect(try store.bytes(of: key) == Self.bytes(70_000))
    let stranger = try #require(
      ObjectsLocation(String(bucket.text.split(separator: "&").dropLast().joined(separator: "&"))))
    let error = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(stranger, TestBucket.keys, isFirst: true)
    }
    #expect("\(try #require(error))".contains("no trusted connection"))
  }

  @Test(arguments: TestBucket.all)
  func `a URL of an object reads it for anyone, if the operator wants that`(_ bucket: TestBucket)
    throws
  {
    let (location, key) = (bucket.fresh(), Random.identifier())
    let store = try ObjectStores.serve(
      location, TestBucket.keys, isFirst: true, givesLinks: true)
    try store.store(Self.bytes(30_000), as: key)
    guard case .distant(let object) = try #require(try store.open(key)) else {
      Issue.record("not of another machine")
      return
    }
    let link = try #require(object.link())
    #expect(link.contains("X-Amz-Expires=60&"))
    let client = HTTPClient()
    let read = try client.send("GET", link, timeout: .seconds(10))
    #expect(read.status == 200 && read.body == Self.bytes(30_000))
    let part = try client.send(
      "GET", link, headers: [("Range", "bytes=5-9")], timeout: .seconds(10))
    #expect(part.body == Array(Self.bytes(30_000)[5...9]))
    #expect(try client.send("DELETE", link, timeout: .seconds(10)).status >= 400)
    let other = link.replacing("\(key)", with: "\(Random.identifier())")
    #expect(try client.send("GET", other, timeout: .seconds(10)).status >= 400)

    let plain = try ObjectStores.open(location, TestBucket.keys)
    guard case .distant(let unlinked) = try #require(try plain.open(key)) else { return }
    #expect(unlinked.link() == nil)
  }

  @Test(arguments: TestBucket.all)
  func `a command makes no store where there is none`(_ bucket: TestBucket) throws {
    let error = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.open(bucket.fresh(), TestBucket.keys)
    }
    #expect("\(try #require(error))".contains("there is no object store in the bucket"))
  }

  @Test(arguments: TestBucket.all)
  func `wrong keys are named as such, in one line`(_ bucket: TestBucket) throws {
    for keys in ["coffertest:wrong-secret-wrong", "stranger:coffertestsecret"] {
      let error = #expect(throws: ObjectStoreError.self) {
        try ObjectStores.serve(bucket.fresh(), BucketKeys(keys), isFirst: true)
      }
      guard case .misconfigured(let reason) = try #require(error) else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(reason.contains("keys") && !reason.contains("secret"), "\(reason)")
    }
  }

  @Test(arguments: TestBucket.all)
  func `a bucket that is not there is named as such`(_ bucket: TestBucket) throws {
    let other = bucket.text.replacing("s3://coffer", with: "s3://no-bucket-\(Random.identifier())")
    let location = try #require(ObjectsLocation(other))
    let error = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(location, TestBucket.keys, isFirst: true)
    }
    #expect("\(try #require(error))".hasPrefix("there is no bucket no-bucket-"))
  }
}
