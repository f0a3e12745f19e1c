import Base
import Configuration
import Crypto
import Glibc
import JSON
import Storage
import TestDevices
import TestEngines
import TestFiles
import Testing

/// `kill -9` while versions are deleted, or trash is purged or restored: the rest follows after the next start.
@Suite(.serialized) struct HistoryCrashTests {
  private static let folderCount = 6
  private static let documentCount = 499
  private static let patience = Instant.Span.seconds(60)

  private static let catalogue = """
    {"version": "history", "plans": [], "free": {"id": "free", "title": "Free",
      "bytes": 100000000, "limits": {"history_days": 30, "trash_days": 30}}}
    """

  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func installation(_ engine: TestEngine) throws -> Installation {
    let plans = scratch.path + "/plans.json"
    try Files.write(Array(Self.catalogue.utf8), to: plans)
    return try Installation(engine, settings: ["COFFER_PLANS": plans])
  }

  /// Waits for a part of the usage.
  private func wait(
    _ device: TestDevice, until isReached: (_ parts: JSON) -> Bool
  ) throws {
    let deadline = MonotonicTime.now() + Self.patience
    while true {
      let answer = try device.get("/v1/account")
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      if isReached(try answer.json["usage_parts"]) { return }
      try #require(MonotonicTime.now() < deadline, "the server does not go on")
      usleep(1000)
    }
  }

  /// Deletes a folder of folders of documents into the trash, and waits until all of them are there.
  private func trash(_ device: TestDevice) throws -> Identifier {
    let top = try device.creation("folder")
    try send([top], device)
    for _ in 0..<Self.folderCount {
      let folder = try device.creation("folder", parent: top.file.id)
      let documents = try (0..<Self.documentCount).map { _ in
        try device.creation(parent: folder.file.id)
      }
      try send([folder] + documents, device)
    }
    try #require(try device.delete(top.file.id).status == 200)
    try wait(device) { $0["trash"].integer == Self.trashByteCount }
    return top.file.id
  }

  private static let trashByteCount = Int64(1000 * (1 + folderCount * (1 + documentCount)))

  private func send(_ files: [FileChange], _ device: TestDevice) throws {
    let answer = try device.batch(files: files)
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
  }

  /// Kills the server, which must not be done yet, and starts it again.
  private func restart(
    _ sync: Server, _ installation: Installation, whileAnyIsIn table: String
  ) throws -> Server {
    sync.kill()
    let database = try Database.open(installation.location, owning: .sync)
    let left = try database.read { reader in
      try reader.first("SELECT count(*) FROM sync.\(table)") { row in try row.integer(0) }
    }
    database.close()
    #expect(left ?? 0 > 0, "it was done before the crash")
    return try installation.start(.sync, port: sync.port)
  }

  private func expectWhole(_ sync: Server, _ installation: Installation) throws {
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try Books(installation).expectWhole(accountCount: 1)
    try TreeStormTests.expectNothingToCorrect(installation)
  }

  @Test(arguments: TestEngine.available)
  func `a purge of the trash that was killed goes on after the next start`(
    engine: TestEngine
  ) throws {
    let installation = try installation(engine)
    var sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let top = try trash(device)
    #expect(try device.send(device.sign("DELETE", "/v1/trash/\(top)")).status == 204)
    try wait(device) { $0["trash"].integer != Self.trashByteCount }
    sync = try restart(sync, installation, whileAnyIsIn: "trash")
    try wait(device) { $0["trash"].integer == 0 && $0["live"].integer == 1000 }
    try expectWhole(sync, installation)
  }

  @Test(arguments: TestEngine.available)
  func `a restore from the trash that was killed goes on after the next start`(
    engine: TestEngine
  ) throws {
    let installation = try installation(engine)
    var sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    var replica = Replica(device)
    let top = try trash(device)
    let restore = device.sign("POST", "/v1/trash/\(top)/restore", body: [])
    #expect(try device.send(restore).status == 200)
    try wait(device) { ($0["trash"].integer ?? 0) < Self.trashByteCount - 1000 }
    sync = try restart(sync, installation, whileAnyIsIn: "trash")
    try wait(device) { $0["trash"].integer == 0 }
    try replica.pull()
    let live = replica.records.values.count { !$0.deleted }
    #expect(Int64(live) * 1000 == Self.trashByteCount + 1000)
    try expectWhole(sync, installation)
  }

  @Test(arguments: TestEngine.available)
  func `a deletion of versions that was killed goes on after the next start`(
    engine: TestEngine
  ) throws {
    let installation = try installation(engine)
    var sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let (id, created) = try device.create()
    #expect(created.status == 200)
    for _ in 0...1500 {
      let answer = try device.put(id, Random.bytes(100), ifMatch: "*")
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    }
    #expect(try device.delete(id).status == 200)
    #expect(try device.send(device.sign("DELETE", "/v1/trash/\(id)")).status == 204)
    try wait(device) { $0["history"].integer != 150_000 }
    sync = try restart(sync, installation, whileAnyIsIn: "versions")
    try wait(device) { $0["history"].integer == 0 && $0["live"].integer == 1000 }
    try expectWhole(sync, installation)
  }
}
