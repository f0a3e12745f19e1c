import Base
import BucketFaults
import Crypto
import Objects
import S3
import SeededRandom
import TestBuckets
import Testing

/// Unfinished objects of a bucket that another writer continues.
@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketResumeTests {
  private static let part = Int(ObjectParts.byteCount)
  private static let start = ObjectCheckpoint(byteCount: 0, state: [])
  private static let content = Random.bytes(3 * part)

  private let key = Random.identifier()

  /// Appends in a writer of its own, as one request does. Returns how far the object is then.
  private func append(
    _ bytes: some Collection<UInt8>, to store: any ObjectStore, at checkpoint: ObjectCheckpoint
  ) throws -> ObjectCheckpoint {
    let writer = try store.resume(key, at: checkpoint)
    try writer.write(all: bytes)
    defer { writer.suspend() }
    return try writer.checkpoint(isLast: true)
  }

  private func unfinished(_ store: any ObjectStore) throws -> [Identifier] {
    try store.leftovers(before: .distantFuture)
  }

  @Test(arguments: TestBucket.all, [1, 2, 3] as [UInt64])
  func `a content that comes in requests of any size is whole at the end`(
    _ bucket: TestBucket, _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let store = try bucket.start()
    let content = Self.content.prefix(Int.random(in: 1...2 * Self.part + 1000, using: &random))
    var checkpoint = Self.start
    while Int(checkpoint.byteCount) < content.count {
      let rest = content.dropFirst(Int(checkpoint.byteCount))
      let count = min(rest.count, Int.random(in: 1...Self.part + 3, using: &random))
      let next = try append(rest.prefix(count), to: store, at: checkpoint)
      #expect(next.byteCount == checkpoint.byteCount + Int64(count), "seed \(seed)")
      checkpoint = next
    }
    try store.resume(key, at: checkpoint).finish()
    let isWhole = try store.bytes(of: key) == Array(content)
    #expect(isWhole, "seed \(seed)")
    #expect(try unfinished(store) == [])
  }

  @Test(arguments: TestBucket.all)
  func `small requests make progress, and another process continues`(_ bucket: TestBucket) throws {
    let location = bucket.fresh()
    let first = try ObjectStores.serve(location, TestBucket.keys, isFirst: true)
    let second = try ObjectStores.open(location, TestBucket.keys)
    let one = try append([1, 2, 3], to: first, at: Self.start)
    let two = try append([4], to: second, at: one)
    #expect(one.byteCount == 3)
    #expect(two.byteCount == 4)
    try first.resume(key, at: two).finish()
    #expect(try second.bytes(of: key) == [1, 2, 3, 4])
  }

  @Test(arguments: TestBucket.all)
  func `whole parts are durable during a request, the rest at its end`(_ bucket: TestBucket) throws
  {
    let writer = try bucket.start().resume(key, at: Self.start)
    try writer.write(all: Self.content.prefix(Self.part + 5))
    #expect(try writer.checkpoint(isLast: false).byteCount == Int64(Self.part))
    #expect(try writer.checkpoint(isLast: true).byteCount == Int64(Self.part + 5))
  }

  // rclone takes no part twice: it answers 501.
  @Test(arguments: TestBucket.all.prefix(1))
  func `what is behind the checkpoint is replaced, parts and tail`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let known = try append(Self.content.prefix(Self.part + 10), to: store, at: Self.start)
    // Written, but never recorded.
    _ = try append([UInt8](repeating: 7, count: Self.part), to: store, at: known)
    let rest = Self.content[(Self.part + 10)..<(2 * Self.part + 20)]
    let last = try append(rest, to: store, at: known)
    try store.resume(key, at: last).finish()
    let isWhole = try store.bytes(of: key) == Array(Self.content.prefix(2 * Self.part + 20))
    #expect(isWhole)
  }

  @Test(arguments: TestBucket.all)
  func `a tail that was replaced is removed by the next request, and all at the end`(
    _ bucket: TestBucket
  ) throws {
    let store = try bucket.start()
    var checkpoint = Self.start
    for count in 1...3 {
      checkpoint = try append([UInt8](repeating: 1, count: count), to: store, at: checkpoint)
    }
    #expect(try unfinished(store) == [key])
    try store.resume(key, at: checkpoint).finish()
    #expect(try unfinished(store) == [])
    #expect(try store.bytes(of: key)?.count == 6)
  }

  @Test(arguments: TestBucket.all)
  func `an upload that ended early is removed, with parts and tail`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let other = Random.identifier()
    _ = try append(Self.content.prefix(Self.part + 10), to: store, at: Self.start)
    let kept = try store.resume(other, at: Self.start)
    try kept.write(all: [1, 2])
    let checkpoint = try kept.checkpoint(isLast: true)
    kept.suspend()
    #expect(try unfinished(store) == [key, other].sorted())
    #expect(try store.leftovers(before: .distantPast) == [])
    try store.deleteLeftover(key)
    try store.deleteLeftover(key)
    #expect(try unfinished(store) == [other])
    #expect(throws: ObjectStoreError.incomplete) {
      try store.resume(key, at: ObjectCheckpoint(byteCount: 10, state: []))
    }
    try store.resume(other, at: checkpoint).finish()
  }

  @Test(arguments: TestBucket.all, [10, part, part + 10])
  func `an object that was finished can be finished again`(_ bucket: TestBucket, _ count: Int)
    throws
  {
    let store = try bucket.start()
    let whole = try append(Self.content.prefix(count), to: store, at: Self.start)
    try store.resume(key, at: whole).finish()
    try store.resume(key, at: whole).finish()
    #expect(try store.bytes(of: key)?.count == count)
    #expect(try unfinished(store) == [])
  }

  @Test(arguments: TestBucket.all)
  func `what was never recorded goes as soon as the object is found finished`(
    _ bucket: TestBucket
  ) throws {
    let store = try bucket.start()
    let whole = try append([1, 2, 3], to: store, at: Self.start)
    // Written, but never recorded.
    _ = try append([4], to: store, at: whole)
    try store.resume(key, at: whole).finish()
    #expect(try unfinished(store) == [key])
    try store.resume(key, at: whole).finish()
    #expect(try unfinished(store) == [])
    #expect(try store.bytes(of: key) == [1, 2, 3])
  }

  @Test(arguments: TestBucket.all)
  func `bytes that the bucket has lost are missed, not invented`(_ bucket: TestBucket) throws {
    let store = try bucket.start()
    let tail = try append([1, 2, 3], to: store, at: Self.start)
    try store.deleteLeftover(key)
    #expect(throws: ObjectStoreError.incomplete) { try store.resume(key, at: tail) }
    let part = try append(Self.content.prefix(Self.part), to: store, at: Self.start)
    try store.deleteLeftover(key)
    #expect(throws: ObjectStoreError.incomplete) { try store.resume(key, at: part).finish() }
    #expect(try store.open(key) == nil)
  }

  @Test(arguments: TestBucket.all)
  func `the row grows by 17 bytes for each part`(_ bucket: TestBucket) throws {
    let writer = try bucket.start().resume(key, at: Self.start)
    var counts: [Int] = []
    for _ in 1...3 {
      try writer.write(all: Self.content.prefix(Self.part))
      counts.append(try writer.checkpoint(isLast: false).state.count)
    }
    #expect(counts[1] - counts[0] == 17)
    #expect(counts[2] - counts[1] == 17)
    #expect(counts[0] < 300)
    writer.abandon()
  }

  @Test(arguments: TestBucket.all)
  func `a part that fails is sent again at the next checkpoint`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    proxy.add(.badDigest, "PUT", "partNumber=1", count: 2)
    let writer = try store.resume(key, at: Self.start)
    try writer.write(all: Self.content.prefix(Self.part))
    var checkpoint: ObjectCheckpoint?
    for _ in 1...3 where checkpoint == nil { checkpoint = try? writer.checkpoint(isLast: true) }
    writer.suspend()
    try store.resume(key, at: #require(checkpoint)).finish()
    let isWhole = try store.bytes(of: key) == Array(Self.content.prefix(Self.part))
    #expect(isWhole)
  }

  @Test(arguments: TestBucket.all)
  func `a late part of a writer that was replaced does no harm`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    let known = try append(Self.content.prefix(Self.part), to: store, at: Self.start)
    let rest = Self.content[Self.part..<(2 * Self.part)]
    proxy.add(.late, "PUT", "partNumber=2", count: 100)
    #expect(throws: ObjectStoreError.self) { try append(rest, to: store, at: known) }
    proxy.recover()
    let whole = try append(rest, to: store, at: known)
    #expect(proxy.land().last == 200)
    try store.resume(key, at: whole).finish()
    let isWhole = try store.bytes(of: key) == Array(Self.content.prefix(2 * Self.part))
    #expect(isWhole)
  }

  // rclone takes no part twice: it answers 501.
  @Test(arguments: TestBucket.all.prefix(1))
  func `a late part with other bytes is never taken for the acknowledged ones`(
    _ bucket: TestBucket
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    let known = try append(Self.content.prefix(Self.part), to: store, at: Self.start)
    proxy.add(.late, "PUT", "partNumber=2", count: 100)
    let other = [UInt8](repeating: 7, count: Self.part)
    #expect(throws: ObjectStoreError.self) { try append(other, to: store, at: known) }
    proxy.recover()
    let whole = try append(
      Self.content[Self.part..<(2 * Self.part)], to: store, at: known)
    #expect(proxy.land().last == 200)
    do throws(ObjectStoreError) { try store.resume(key, at: whole).finish() } catch {
      #expect(error == .incomplete)
    }
    // Of two parts that it took for one, the service may have kept both, or only the later.
    let stored = try store.bytes(of: key)
    let isWhole = stored == Array(Self.content.prefix(2 * Self.part))
    #expect(stored == nil || isWhole)
  }

  @Test(arguments: TestBucket.all)
  func `a late part of an upload that has ended leaves nothing`(_ bucket: TestBucket) throws {
    let (store, proxy) = try bucket.startFaulty()
    proxy.add(.late, "PUT", "partNumber=1", count: 100)
    #expect(throws: ObjectStoreError.self) {
      try append(Self.content.prefix(Self.part), to: store, at: Self.start)
    }
    try store.deleteLeftover(key)
    #expect(!proxy.land().contains(200))
    #expect(try unfinished(store) == [])
    #expect(try store.open(key) == nil)
  }

  @Test(arguments: TestBucket.all)
  func `a writer whose store is slow asks for a pause, which ends as parts arrive`(
    _ bucket: TestBucket
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    proxy.add(.slow(8000), "PUT", "partNumber=1")
    let writer = try store.create(key)
    let proceeds = Locked(0)
    var pauseCount = 0
    for index in 0..<6 {
      try writer.write(all: Self.content.prefix(Self.part))
      let isPaused = writer.pause { proceeds.signal { $0 += 1 } }
      if index < 3 { #expect(!isPaused) }
      if isPaused { pauseCount += 1 }
      if isPaused {
        let count = pauseCount
        #expect(proceeds.wait(until: .now() + .seconds(60)) { $0 == count ? true : nil } == true)
      }
    }
    #expect(pauseCount > 0)
    try writer.finish()
    #expect(try store.open(key)?.byteCount == Int64(6 * Self.part))
  }
}
