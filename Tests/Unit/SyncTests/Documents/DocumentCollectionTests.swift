import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// When the server forgets a deletion before its retention ends: once every device has it.
@Suite struct DocumentCollectionTests {
  /// Three devices, of which the first deleted a document that all had.
  private struct Scene {
    let server: TestServer
    let devices: [TestDevice]
    /// The clock of a device that has everything, and of one that lacks the deletion.
    let clock, before: [[UInt8]: Int64]

    init(_ engine: TestEngine) throws {
      server = try TestServer(engine)
      devices = try server.devices(3)
      let (a, document) = (devices[0], Random.identifier())
      try a.push(a.version(document, 1), a.version(Random.identifier(), 2)).requireSuccess()
      before = try a.pull().clock
      try a.push(a.version(document, 3, covering: [a.publicKey: 1], nil)).requireSuccess()
      clock = try a.pull().clock
    }

    /// Whether the deletion is there after a sweep, when nothing signed before can arrive any more.
    func isKept() throws -> Bool {
      server.clock.advance(.minutes(10))
      try server.sweeper().sweep()
      return try server.count("document_versions") == 2
    }

    /// What devices told by their pulls.
    func told() throws -> [Int64] {
      try server.database.read { reader in
        try reader.rows("SELECT seq FROM sync.document_readers ORDER BY device_key") { row in
          try row.integer(0)
        }
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a deletion goes when the last device pulls with a clock that has it`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (a, b, c) = (scene.devices[0], scene.devices[1], scene.devices[2])
    let usage = try a.usage()
    for device in [a, b] { _ = try device.pull(scene.clock) }
    #expect(try scene.isKept())
    // It gets the deletion, but has not said that it has it.
    #expect(try c.pull(scene.before).versions.map(\.body) == [nil])
    #expect(try scene.isKept())
    _ = try c.pull(scene.clock)
    try scene.server.sweeper().sweep()
    #expect(try scene.server.count("document_versions") == 2)
    #expect(try !scene.isKept())
    #expect(try a.usage() == usage - 1000 - 128 - 40)
    try scene.server.requireDocuments(a)
    for device in scene.devices {
      #expect(try device.pull(scene.clock).versions.isEmpty)
      #expect(try device.pullPage(scene.before).problem == "clock_expired")
      #expect(try device.pull().versions.count == 1)
    }
  }

  @Test(arguments: TestEngine.available)
  func `a device that stays away keeps a deletion until it is revoked`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (a, b, c) = (scene.devices[0], scene.devices[1], scene.devices[2])
    for device in [a, b, a, b] { _ = try device.pull(scene.clock) }
    #expect(try scene.isKept())
    try a.revoke(key: c.publicKey).requireSuccess()
    #expect(try scene.isKept())
    _ = try b.pull(scene.clock)
    #expect(try !scene.isKept())
    try scene.server.requireDocuments(a)
  }

  @Test(arguments: TestEngine.available)
  func `a device is recorded once for the deletions that wait, and once an hour for more`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (a, b) = (scene.devices[0], scene.devices[1])
    _ = try a.pull(scene.before)
    #expect(try scene.told().isEmpty)
    _ = try a.pull(scene.clock)
    let told = try scene.told()
    #expect(told.count == 1)
    // What is pushed later is no deletion.
    try a.push(a.version(Random.identifier(), 4)).requireSuccess()
    for _ in 0..<2 { _ = try a.pull([a.publicKey: 4]) }
    #expect(try scene.told() == told)
    try a.push(a.version(Random.identifier(), 5, nil)).requireSuccess()
    _ = try a.pull([a.publicKey: 5])
    #expect(try scene.told() == told)
    scene.server.clock.advance(.hours(1))
    _ = try a.pull([a.publicKey: 5])
    #expect(try scene.told().map { $0 > told[0] } == [true])
    _ = try b.pull([a.publicKey: 5])
    #expect(try scene.told().count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a device that has yet to push has not said that it knows of deletions`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let b = scene.devices[1]
    _ = try b.pull(scene.clock.merging([b.publicKey: 1]) { $1 })
    #expect(try scene.told().isEmpty)
    try b.push(b.version(Random.identifier(), 1)).requireSuccess()
    _ = try b.pull(scene.clock.merging([b.publicKey: 1]) { $1 })
    #expect(try scene.told().count == 1)
  }
}
