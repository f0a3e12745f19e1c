import Base
import Crypto
import TestDevices
import TestEngines
import Testing

/// The effects of an operator's suspension on an account, and their limits.
@Suite struct SuspensionTests {
  @Test(arguments: TestEngine.available)
  func `a suspended account writes nothing, and reads and deletes as before`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (folder, document) = (try device.add("folder"), try device.add())
    try device.put(document, [1, 2], ifMatch: "*").requireSuccess()
    try server.suspend(device.account, since: server.clock.now)
    let before = try server.state()
    for refused in [
      try device.create().answer, try device.rename(document),
      try device.move(document, to: folder),
      try device.put(document, [1], ifMatch: "*"),
      try device.put(document, Random.bytes(20_000), ifMatch: "*"),
    ] {
      #expect(refused.status == 403)
      #expect(try refused.problem == "account_suspended")
    }
    #expect(try server.state() == before)
    #expect(try device.get("/v1/files/\(document)/content").holds([1, 2]))
    #expect(try device.pulled().records[document] != nil)
    try device.delete(document).requireSuccess()
    try server.suspend(device.account, since: nil)
    _ = try device.add(in: folder)
  }

  @Test(arguments: TestEngine.available)
  func `nobody writes into the tree of a suspended account, and it into nobody's`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let document = try alice.add(in: folder)
    let link = try alice.share(folder, with: bob, mode: "write")
    for suspended in [alice, bob] {
      try server.suspend(suspended.account, since: server.clock.now)
      for refused in [
        try bob.put(document, [1], ifMatch: "*"),
        try bob.create(parent: folder, owner: alice.account).answer,
      ] {
        #expect(try refused.problem == "account_suspended")
      }
      try server.suspend(suspended.account, since: nil)
    }
    try bob.put(document, [1], ifMatch: "*").requireSuccess()
    try server.suspend(alice.account, since: server.clock.now)
    // Changes of Bob's own tree are allowed.
    _ = try bob.add()
    try bob.delete(link).requireSuccess()
  }
}
