import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Neither versions nor trash of one account are in the way of another's, if they cannot be deleted.
@Suite struct FailingHistoryTests {
  @Test(arguments: TestEngine.available)
  func `versions that cannot be deleted wait, and others' go`(engine: TestEngine) throws {
    let server = try TestServer(engine, keepingFor: 2)
    let (ada, bob) = (try server.register(), try server.register())
    for device in [ada, bob] {
      let id = try device.add()
      for _ in 0..<3 { _ = try device.write(id, Random.bytes(20_000)) }
      server.clock.advance(.seconds(1))
    }
    let usage = try ada.usage()
    try server.setUsage(of: ada.account, 0)
    server.clock.advance(.days(3))
    try server.sweepDeletions()
    #expect(try server.count("versions") == 2)
    #expect(try bob.usage() == 22_000)
    #expect(try server.failingItems() == ["versions \(try ada.account): 1"])
    try server.setUsage(of: ada.account, usage)
    server.clock.advance(.hours(1))
    try server.sweepDeletions()
    #expect(try server.count("versions") == 0)
    #expect(try server.failingItems() == [])
    try server.requireRight([ada, bob])
  }

  @Test(arguments: TestEngine.available)
  func `trash that cannot be purged waits, and others' goes`(engine: TestEngine) throws {
    let server = try TestServer(engine, trashFor: 2)
    let (ada, bob) = (try server.register(), try server.register())
    var roots: [Identifier] = []
    for device in [ada, bob] {
      let id = try device.add()
      _ = try device.write(id, Random.bytes(20_000))
      try device.delete(id).requireSuccess()
      roots.append(id)
      server.clock.advance(.seconds(1))
    }
    let usage = try ada.usage()
    for (device, root) in zip([ada, bob], roots) { #expect(try device.purge(root).status == 204) }
    try server.setUsage(of: ada.account, 0)
    try server.sweepDeletions()
    #expect(try server.count("trash") == 1)
    #expect(try bob.usage() == 1000)
    #expect(try server.failingItems() == ["trash \(roots[0]): 1"])
    try server.setUsage(of: ada.account, usage)
    server.clock.advance(.hours(1))
    try server.sweepDeletions()
    #expect(try server.count("trash") == 0)
    #expect(try server.failingItems() == [])
    try server.requireRight([ada, bob])
  }
}
