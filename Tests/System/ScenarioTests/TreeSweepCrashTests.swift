import Base
import Configuration
import Glibc
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// `kill -9` in the middle of a large deletion: the rest is still deleted.
@Suite(.serialized) struct TreeSweepCrashTests {
  private static let folderCount = 8
  private static let documentCount = 499
  private static let patience = Instant.Span.seconds(60)

  @Test(arguments: TestEngine.available)
  func `a sweep that was killed goes on after the next start, and all space comes back`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine)
    var sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    try Self.giveRoom(device, installation)
    let top = try Self.fill(device)
    var follower = Replica(device)
    try follower.pull()
    let full = try Self.usage(device)
    #expect(try device.delete(top).status == 200)
    while try Self.usage(device) == full - 1000 { usleep(1000) }
    sync.kill()
    let left = try Self.unsweptCount(installation)
    #expect(left > 0, "the sweep was over before the crash")

    sync = try installation.start(.sync, port: sync.port)
    let deadline = MonotonicTime.now() + Self.patience
    while try Self.usage(device) > 1000, MonotonicTime.now() < deadline { usleep(50_000) }
    #expect(try Self.usage(device) == 1000)
    try follower.pull(limit: 100)
    #expect(follower.ids == [device.root])
    let unmarked = follower.records.values.count { !$0.deleted }
    #expect(unmarked == 1)
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(try Self.unsweptCount(installation) == 0)
    try Books(installation).expectWhole(accountCount: 1)
    try TreeStormTests.expectNothingToCorrect(installation)
  }

  /// Gives the account more records than the free plan allows, as coffer-billing would.
  private static func giveRoom(_ device: TestDevice, _ installation: Installation) throws {
    let account = try device.account
    let database = try Database.open(installation.location, owning: .billing)
    defer { database.close() }
    try database.write(for: account) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES ($1, 0, 1000000000, 'premium', 'subscribed')
        """, .id(account))
    }
  }

  /// Creates a folder of folders of documents. Returns the topmost folder.
  private static func fill(_ device: TestDevice) throws -> Identifier {
    let top = try device.creation("folder")
    try send([top], device)
    for _ in 0..<folderCount {
      let folder = try device.creation("folder", parent: top.file.id)
      try send(
        [folder]
          + (0..<documentCount).map { _ in try device.creation(parent: folder.file.id) },
        device)
    }
    return top.file.id
  }

  private static func send(_ files: [FileChange], _ device: TestDevice) throws {
    let answer = try device.batch(files: files)
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
  }

  private static func usage(_ device: TestDevice) throws -> Int64 {
    let answer = try device.get("/v1/account")
    guard answer.status == 200, let usage = try answer.json["usage"].integer else {
      throw UnexpectedAnswer(answer)
    }
    return usage
  }

  private static func unsweptCount(_ installation: Installation) throws -> Int64 {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    return try database.read { reader in
      try reader.first("SELECT count(*) FROM sync.deletions") { row in try row.integer(0) }
    } ?? 0
  }
}
