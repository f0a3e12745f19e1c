import Base
import Backup
import Configuration
import Glibc
import JSON
import Objects
import S3
import SeededRandom
import Storage
import Sync
import TestBuckets
import TestDevices
import TestEngines
import TestFiles
import Testing

/// `coffer objects migrate` beside the servers, as docs/operating.md describes it.
@Suite(.serialized) struct ObjectMigrationTests {
  /// From one kind of store to another.
  struct Way: Sendable, CustomTestStringConvertible {
    let from: TestStore
    let to: TestStore

    var testDescription: String { "\(from.testDescription) to \(to.testDescription)" }

    static let all = TestStore.all.flatMap { from in
      TestStore.all.map { to in Way(from: from, to: to) }
    }
  }

  /// On each way. Two ways lead to each kind of store: 100 in a full run.
  private static let killCount = TestRun.isFull ? 50 : 5

  private let scratch: ScratchDirectory
  private static let secrets = ["COFFER_OBJECTS_KEY": TestBucket.keyText]

  init() throws { scratch = try ScratchDirectory() }

  private func install(_ engine: TestEngine, _ old: String) throws -> Installation {
    try Installation(
      engine,
      settings: Self.secrets.merging(["COFFER_OBJECTS": old, "TMPDIR": scratch.path]) { $1 })
  }

  private func moving(_ installation: Installation, _ old: String, to new: String) {
    installation.set(["COFFER_OBJECTS": new, "COFFER_OBJECTS_ALSO": old])
  }

  @Test(arguments: TestEngine.available, Way.all)
  func `an installation moves while it serves, and starts alone only when it is done`(
    _ engine: TestEngine, _ way: Way
  ) throws {
    let (old, new) = (way.from.location(in: scratch.path), way.to.location(in: scratch.path))
    let installation = try install(engine, old)
    let first = try installation.start(.sync)
    let writers = try (0..<2).map { try Writer(installation.device(of: first), seed: UInt64($0)) }
    for writer in writers { writer.write(times: 40) }
    #expect(first.stop() == .exited(0))

    moving(installation, old, to: new)
    let early = try installation.command("objects", "migrate")
    #expect(early.end != .exited(0), "a server has to make the new store")
    let second = try installation.start(.sync, port: first.port)
    // What the first has written stays as it is, so that something is left to move.
    let threads = writers.dropFirst().map { writer in Thread { writer.write(times: 40) } }
    let counted = try installation.command("objects", "migrate", "--dry-run")
    #expect(counted.end == .exited(75), "\(counted.output)")
    // Alone, the new store would not do, nor the old one.
    for location in [new, old] {
      installation.set(["COFFER_OBJECTS": location, "COFFER_OBJECTS_ALSO": nil])
      let alone = try installation.launch(.sync)
      #expect(alone.process.wait(within: .seconds(60)) == .exited(78), "\(alone.lastWords)")
      #expect(alone.lastWords.contains("set COFFER_OBJECTS_ALSO"), "\(alone.lastWords)")
    }
    moving(installation, old, to: new)
    let moved = try installation.command("objects", "migrate", "--json")
    #expect(moved.end == .exited(0), "\(moved.output)")
    for thread in threads { thread.join() }
    let found = try installation.command("doctor", "--objects")
    #expect(found.output.contains("every object that documents need is in COFFER_OBJECTS"))
    #expect(second.stop() == .exited(0), "\(second.lastWords)")

    installation.set(["COFFER_OBJECTS_ALSO": nil])
    let third = try installation.start(.sync, port: first.port)
    for writer in writers {
      writer.write(times: 5)
      try writer.check()
    }
    let sound = try installation.command("doctor", "--all", "--objects")
    #expect(sound.end == .exited(0), "\(sound.output)")
    #expect(third.stop() == .exited(0))
    try Books(installation).expectWhole(accountCount: 2)
  }

  /// Kills the command and the server in turn while clients write.
  @Test(arguments: Way.all)
  func `whatever is killed while objects move, each document keeps its content`(_ way: Way) throws {
    var random = SeededGenerator(
      seed: SeededGenerator.seed(of: "migration, \(way.testDescription)"))
    let (old, new) = (way.from.location(in: scratch.path), way.to.location(in: scratch.path))
    let installation = try install(.sqlite, old)
    var sync = try installation.start(.sync)
    let port = sync.port
    let lasting = try (0..<4).map { try Writer(installation.device(of: sync), seed: UInt64($0)) }
    for writer in lasting { writer.write(times: 60) }
    #expect(sync.stop() == .exited(0))
    moving(installation, old, to: new)
    sync = try installation.start(.sync, port: port)

    for round in 0..<Self.killCount {
      let fresh = try (0..<2).map { _ in
        try Writer(installation.device(of: sync), seed: random.next())
      }
      let threads = fresh.map { writer in Thread { writer.writeUntilLost() } }
      let deletion = round % 4 == 3 ? ["--delete"] : []
      let (command, _) = try installation.begin(["objects", "migrate"] + deletion)
      usleep(UInt32.random(in: 20_000..<400_000, using: &random))
      if round % 2 == 0 { command.send(SIGKILL) }
      usleep(UInt32.random(in: 0..<100_000, using: &random))
      sync.kill()
      for thread in threads { thread.join() }
      sync = try installation.start(.sync, port: port)
      for writer in fresh { try writer.checkAfterCrash() }
      #expect(command.wait(within: .seconds(60)) != nil)
    }
    let moved = try installation.command("objects", "migrate", "--delete", "--json")
    #expect(moved.end == .exited(0), "\(moved.output)")
    for writer in lasting { try writer.check() }
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try expectNothingMissing(installation, new)
    try expectNothingLeft(installation, new, also: old)
  }

  private func expectNothingMissing(_ installation: Installation, _ new: String) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    let found = try ObjectAudit(database, ObjectStores.open(TestStore.place(new))).missing { _ in }
    #expect(found.checked > 0 && found.missing.count == 0, "missing: \(found.missing.first)")
  }

  /// After one audit nothing is on either store that no row names.
  private func expectNothingLeft(
    _ installation: Installation, _ new: String, also old: String
  ) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    let pair = try ObjectStores.open(TestStore.place(new, also: old))
    let later = Clock.system.now() + .days(2)
    for byte in UInt8.min...UInt8.max {
      _ = try OrphanAudit(database, pair).orphans(beginningWith: byte, at: later, deletes: true)
    }
    for key in try pair.leftovers(before: later) { try pair.deleteLeftover(key) }
    let named = try database.read { reader in
      try ["files", "versions", "reservations", "garbage"].flatMap { table in
        try reader.rows("SELECT object_id FROM sync.\(table) WHERE object_id IS NOT NULL") {
          try $0.id(0)
        }
      }
    }
    #expect(try TestStore.keys(of: pair).subtracting(named) == [])
  }
}
