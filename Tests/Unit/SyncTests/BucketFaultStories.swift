import Base
import BucketFaults
import Crypto
import Objects
import Sync
import TestBuckets
import TestDevices
import Testing

/// What clients see of the faults of a bucket: the right bytes, or that they should try again.
@Suite(.enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketFaultStories {
  /// A document of a server whose bucket is behind the proxy, and the request that writes it.
  private struct Scene {
    let server: TestServer
    let proxy: FaultProxy
    let device: TestDevice
    let target: String
    let content: [UInt8]
    let upload: TestDevice.Signed

    init(_ bucket: TestBucket) throws {
      let (store, proxy) = try bucket.startFaulty()
      self.proxy = proxy
      server = try TestServer(objects: store)
      device = try server.register()
      let document = try device.add()
      target = "/v1/files/\(document)/content"
      content = Random.bytes(30_000)
      upload = device.sign("PUT", target, body: content, headers: [("If-Match", "\"0\"")])
    }

    func expectRead() throws {
      let answer = try device.get(target)
      #expect(answer.status == 200 && answer.holds(content))
    }
  }

  private func expectToTryAgain(_ answer: Answer) throws {
    #expect(try (answer.status, answer.problem) == (503, "storage_unavailable"))
    #expect(answer.header("Retry-After") != nil)
  }

  @Test(
    arguments: TestBucket.all,
    [
      [.busy], [.badDigest], [.altered], [.errorIn200], [.lostAnswer], [.slow(500)], [.late],
      [.late, .badDigest],
    ] as [[FaultProxy.Fault]])
  func `an upload is stored whole, or once it is sent again after the fault`(
    _ bucket: TestBucket, _ faults: [FaultProxy.Fault]
  ) throws {
    let scene = try Scene(bucket)
    for fault in faults { scene.proxy.add(fault, "PUT") }
    let answer = try scene.device.send(scene.upload)
    if answer.status != 200 { try expectToTryAgain(answer) }
    #expect(scene.proxy.hitCount == faults.count)
    scene.proxy.recover()
    #expect(try scene.device.send(scene.upload).status == 200)
    // What lands only now has the key of its own attempt.
    _ = scene.proxy.land()
    try scene.expectRead()
  }

  @Test(
    arguments: TestBucket.all,
    [
      ("HEAD", .busy), ("HEAD", .badDigest), ("HEAD", .slow(500)), ("GET", .busy),
      ("GET", .errorIn200), ("GET", .cut(after: 10_000)), ("GET", .lostAnswer), ("GET", .slow(500)),
    ] as [(String, FaultProxy.Fault)])
  func `a download has the right bytes, or none until the fault has ended`(
    _ bucket: TestBucket, _ fault: (String, FaultProxy.Fault)
  ) throws {
    let scene = try Scene(bucket)
    try scene.device.send(scene.upload).requireSuccess()
    scene.proxy.add(fault.1, fault.0)
    let answer = try scene.device.get(scene.target)
    if answer.status != 200 { try expectToTryAgain(answer) }
    #expect(answer.status != 200 || answer.holds(scene.content))
    #expect(scene.proxy.hitCount == 1)
    scene.proxy.recover()
    try scene.expectRead()
  }

  @Test(arguments: TestBucket.all, [.emptyList, .brokenList] as [FaultProxy.Fault])
  func `lists that are lost take nothing from who uploads and downloads`(
    _ bucket: TestBucket, _ fault: FaultProxy.Fault
  ) throws {
    let scene = try Scene(bucket)
    scene.proxy.add(fault, "GET", "list-type=2", count: 1000)
    try scene.device.send(scene.upload).requireSuccess()
    // It may refuse to work without the list.
    try? scene.server.sweeper().sweep()
    #expect(scene.proxy.hitCount > 0)
    try scene.expectRead()
    scene.proxy.recover()
    try scene.server.sweeper().sweep()
    try scene.expectRead()
  }
}
