import TestDevices
import TestEngines
import Testing
import Tiers

/// The limits of a plan besides bytes.
@Suite struct PlanLimitTests {
  @Test(arguments: TestEngine.available)
  func `files are counted with their root, and deleting makes room again`(engine: TestEngine) throws
  {
    let server = try TestServer(engine, freeLimits: .init(recordCount: 3))
    let device = try server.register()
    let (id, _) = (try device.add(), try device.add())
    let before = try server.state()
    let refused = try device.create().answer
    #expect(try (refused.status, refused.problem) == (409, "too_many_records"))
    #expect(try server.state() == before)
    #expect(try device.delete(id).status == 200)
    #expect(try device.create().answer.status == 200)
  }

  @Test(arguments: [1000, 100_000])
  func `a document larger than the plan allows is refused, and none that shrinks`(
    byteCount: Int
  ) throws {
    let server = try TestServer(freeLimits: .init(fileByteCount: Int64(byteCount)))
    let device = try server.register()
    let (id, _) = try device.create()
    let content = [UInt8](repeating: 1, count: byteCount)
    #expect(try device.put(id, content, ifMatch: "*").status == 200)
    let refused = try device.put(id, content + [1], ifMatch: "*")
    #expect(try (refused.status, refused.problem) == (413, "file_too_large"))
    try server.setCap(device.account, 1_000_000, plan: "premium", reason: "subscribed")
    #expect(try device.put(id, content + [1, 2], ifMatch: "*").status == 200)
    try server.setCap(device.account, 1_000_000, plan: "free", reason: "lapsed")
    #expect(try device.put(id, content + [1], ifMatch: "*").status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a plan's shares are counted with those that wait, and what is shared may change`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeLimits: .init(shareCount: 1))
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let (file, _) = try alice.create("folder")
    #expect(try alice.grant(file, to: bob.account).status == 200)
    let refused = try alice.grant(file, to: carol.account)
    #expect(try (refused.status, refused.problem) == (409, "too_many_shares"))
    #expect(
      try alice.grant(file, to: bob.account, mode: "write", expect: "pending").status == 200)
    #expect(try alice.revoke(file, from: bob.account, expect: "pending").status == 200)
    #expect(try alice.grant(file, to: carol.account).status == 200)
  }
}
