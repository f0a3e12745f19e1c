import Base
import BucketFaults
import Crypto
import Glibc
import Objects
import S3
import Sync
import TestBuckets
import TestDevices
import TestEngines
import Testing

/// What uploads leave in a bucket, and who removes it.
@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketRemainsTests {
  private static func orphans(_ server: TestServer, deletes: Bool) throws -> (Int64, Int64) {
    let audit = OrphanAudit(server.database, server.objects)
    // Two days later, so that nothing is too young.
    let now = Clock.system.now() + .days(2)
    var (deleted, left) = (OrphanAudit.Found(), OrphanAudit.Found())
    for byte in UInt8.min...UInt8.max {
      let found = try audit.orphans(beginningWith: byte, at: now, deletes: deletes)
      deleted += found.deleted
      left += found.left
    }
    return (deleted.count, left.count)
  }

  @Test(arguments: TestBucket.all)
  func `a PUT that lands after its upload was given up is found by the audit`(_ bucket: TestBucket)
    throws
  {
    let (store, proxy) = try bucket.startFaulty()
    let server = try TestServer(objects: store)
    let device = try server.register()
    let document = try device.add()
    proxy.add(.late, "PUT", count: 100)
    let answer = try device.put(document, Random.bytes(30_000), ifMatch: "\"0\"")
    #expect(answer.status == 503)
    proxy.recover()
    try server.sweeper().sweep()
    #expect(try Self.orphans(server, deletes: true) == (0, 0))

    #expect(proxy.land().contains(200))
    #expect(try Self.orphans(server, deletes: false) == (0, 1))
    #expect(try Self.orphans(server, deletes: true) == (1, 0))
    #expect(try Self.orphans(server, deletes: true) == (0, 0))
    #expect(try device.put(document, Random.bytes(30_000), ifMatch: "\"0\"").status == 200)
    #expect(try Self.orphans(server, deletes: true) == (0, 0))
  }

  @Test(arguments: TestBucket.all)
  func `objects that a bucket says are larger than any disk are counted`(_ bucket: TestBucket)
    throws
  {
    let (store, proxy) = try bucket.startFaulty()
    let server = try TestServer(objects: store)
    let listed = (0..<2).map { _ in
      """
      <Contents><Key>\(Random.identifier())</Key><Size>\(Int64.max)</Size>\
      <LastModified>2026-01-01T00:00:00Z</LastModified></Contents>
      """
    }
    proxy.add(
      .list("<IsTruncated>false</IsTruncated>\(listed.joined())"), "GET", "list-type=2", count: 2)
    let audit = OrphanAudit(server.database, server.objects)
    var sum = OrphanAudit.Found()
    for byte in UInt8(0)...1 {
      sum += try audit.orphans(beginningWith: byte, at: .distantFuture, deletes: false).left
    }
    #expect(sum.count == 4)
    #expect(sum.byteCount == .max)
  }

  @Test(arguments: TestEngine.available, TestBucket.all)
  func `an upload that lives keeps its tail and its parts, one that expired does not`(
    _ engine: TestEngine, _ bucket: TestBucket
  ) throws {
    let server = try TestServer(
      engine, freeByteCount: 30_000_000, objects: try bucket.start())
    let scene = try UploadScene(server, byteCount: Int(ObjectParts.byteCount) + 50_000)
    try scene.create()
    #expect(try scene.append(0..<scene.content.count - 10).status == 204)
    let audit = OrphanAudit(server.database, server.objects)
    try server.sweeper().sweep()
    #expect(try server.objects.leftovers(before: .distantFuture).count == 1)
    #expect(try audit.leftovers(before: .distantFuture) == [])
    server.clock.advance(.hours(25))
    try server.sweeper().sweep()
    #expect(try server.objects.leftovers(before: .distantFuture) == [])
  }

  @Test(arguments: TestEngine.available, TestBucket.all)
  func `unfinished uploads are listed once for many objects that are deleted`(
    _ engine: TestEngine, _ bucket: TestBucket
  ) throws {
    let (store, proxy) = try bucket.startFaulty()
    let server = try TestServer(engine, objects: store)
    let device = try server.register()
    let document = try device.add()
    for _ in 0..<4 {
      #expect(try device.put(document, Random.bytes(20_000), ifMatch: "*").status == 200)
    }
    #expect(try server.count("garbage") == 3)
    server.clock.advance(.hours(1))
    // A fault that changes nothing counts.
    proxy.add(.slow(0), "GET", "uploads=", count: 100)
    try server.sweeper().sweep()
    #expect(try server.count("garbage") == 0)
    // The other list is for uploads that nobody continues.
    #expect(proxy.hitCount == 2)
  }

  @Test(arguments: TestEngine.available, TestBucket.all)
  func `an upload that was given up is removed with its garbage`(
    _ engine: TestEngine, _ bucket: TestBucket
  ) throws {
    let server = try TestServer(
      engine, freeByteCount: 30_000_000, objects: try bucket.start())
    let scene = try UploadScene(server, byteCount: Int(ObjectParts.byteCount) + 50_000)
    try scene.create()
    #expect(try scene.append(0..<scene.content.count - 10).status == 204)
    #expect(try scene.device.send(scene.request("DELETE")).status < 300)
    #expect(try server.count("garbage") == 1)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try server.count("garbage") == 0)
    #expect(try server.objects.leftovers(before: .distantFuture) == [])
  }

  @Test(arguments: TestBucket.all)
  func `an upload whose parts the bucket has lost ends with a reason`(_ bucket: TestBucket) throws {
    let server = try TestServer(objects: try bucket.start())
    let scene = try UploadScene(server)
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    for key in try server.objects.leftovers(before: .distantFuture) {
      try server.objects.deleteLeftover(key)
    }
    #expect(try scene.append(20_000..<50_000).problem == "upload_lost")
    // The answer does not wait for the row to go.
    let deadline = MonotonicTime.now() + .seconds(10)
    while try !server.reservedObjects().isEmpty {
      try #require(MonotonicTime.now() < deadline)
      usleep(10_000)
    }
  }
}
