import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Neither versions nor trash of one account are in the way of another's, if they cannot be deleted.
@Suite struct FailingHistoryTests {
  /// A wrong total, which what is to be deleted would make negative.
  private func corrupt(_ device: TestDevice, _ server: TestServer, _ byteCount: Int64) throws {
    let account = try device.account
    try server.database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE sync.accounts SET usage_bytes = $2 WHERE id = $1", .id(account),
        .integer(byteCount))
    }
  }

  private func failing(_ server: TestServer) throws -> [String] {
    try server.database.read { reader in
      try reader.rows("SELECT queue, item, failure_count FROM sync.failing_items") { row in
        "\(try row.text(0)) \(try row.id(1)) \(try row.integer(2))"
      }
    }
  }

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
    try corrupt(ada, server, 0)
    server.clock.advance(.days(3))
    try server.sweepDeletions()
    #expect(try server.count("versions") == 2)
    #expect(try bob.usage() == 22_000)
    #expect(try failing(server) == ["versions \(try ada.account) 1"])
    try corrupt(ada, server, usage)
    server.clock.advance(.hours(1))
    try server.sweepDeletions()
    #expect(try server.count("versions") == 0)
    #expect(try failing(server) == [])
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
    try corrupt(ada, server, 0)
    try server.sweepDeletions()
    #expect(try server.count("trash") == 1)
    #expect(try bob.usage() == 1000)
    #expect(try failing(server) == ["trash \(roots[0]) 1"])
    try corrupt(ada, server, usage)
    server.clock.advance(.hours(1))
    try server.sweepDeletions()
    #expect(try server.count("trash") == 0)
    #expect(try failing(server) == [])
    try server.requireRight([ada, bob])
  }
}
