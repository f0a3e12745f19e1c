import Base
import Configuration
import Glibc
import Objects
import S3
import SeededRandom
import Storage
import Sync
import TestBuckets
import TestEngines
import TestFiles
import Testing

/// `kill -9` at random moments of uploads, appends, commits, deletions, restores and collection, on each kind of store.
@Suite(.serialized) struct ContentCrashTests {
  /// On either kind of store: 100 in a full run.
  private static let crashCount = TestRun.isFull ? 50 : 5

  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  @Test func `a crash loses no content in a directory, and leaves nothing behind`() throws {
    try crash("file://\(scratch.path)/objects", on: .sqlite)
  }

  @Test(.enabled(if: !TestBucket.all.isEmpty, "no bucket"))
  func `a crash loses no content in a bucket, and leaves nothing behind`() throws {
    // SeaweedFS, which keeps to the contract.
    let bucket = try #require(TestBucket.all.first)
    try crash(bucket.freshName(), on: TestEngine.available.last ?? .sqlite)
  }

  private func crash(_ objects: String, on engine: TestEngine) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "content crash, \(objects)"))
    let plans = try scratch.write(ContentWriter.catalogue, to: "plans.json")
    let installation = try Installation(
      engine, startingAt: Clock.system.now(),
      settings: [
        "COFFER_OBJECTS": objects, "COFFER_OBJECTS_KEY": TestBucket.keyText, "COFFER_PLANS": plans,
        "TMPDIR": scratch.path, "COFFER_REQUESTS_PER_SECOND": "1000000",
      ])
    var sync = try installation.start(.sync)
    let writers = try (0..<3).map { _ in
      try ContentWriter(installation.device(of: sync), seed: random.next())
    }
    for _ in 0..<Self.crashCount {
      let threads = writers.map { writer in Thread { writer.writeUntilLost() } }
      // Time passes quickly, so that what was replaced is collected meanwhile.
      for _ in 0..<Int.random(in: 4...25, using: &random) {
        usleep(UInt32.random(in: 10_000..<60_000, using: &random))
        try installation.clock.set(installation.clock.now() + .seconds(1))
      }
      sync.kill()
      for thread in threads { thread.join() }
      sync = try installation.start(.sync, port: sync.port)
      for writer in writers { try writer.checkAfterCrash() }
      #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
      // Each writer sends one content at a time.
      try StoredContents(installation, objects).expectSound(leftoverCountMax: writers.count)
      try TreeStormTests.expectNothingToCorrect(installation)
      sync = try installation.start(.sync, port: sync.port)
    }
    for writer in writers { #expect(writer.acknowledgedCount > 0) }
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }
}

/// The rows about contents, and the store, after the program has ended.
private struct StoredContents {
  private let used: [(object: Identifier, byteCount: Int64)]
  private let waiting: Set<Identifier>
  private let wrongly: [Int64]
  private let store: any ObjectStore
  private let listed: Set<Identifier>
  /// The unfinished uploads that the crash left, and what is left of them.
  private let leftovers: [Identifier]
  private let unfinished: [Identifier]

  /// Searches the store for orphans and leftovers once, and deletes them.
  init(_ installation: Installation, _ objects: String) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    store = try ObjectStores.open(#require(ObjectsLocation(objects)), TestBucket.keys)
    // Whatever their age, because no program runs.
    let later = Clock.system.now() + .days(2)
    let audit = OrphanAudit(database, store)
    for byte in UInt8.min...UInt8.max {
      _ = try audit.orphans(beginningWith: byte, at: later, deletes: true)
    }
    var listed: Set<Identifier> = []
    for byte in UInt8.min...UInt8.max {
      listed.formUnion(try store.list(beginningWith: byte).map(\.key))
    }
    self.listed = listed
    // A kill between the store's answer and the row's commit leaves an upload that no row names. The sweep ends it
    // after a day.
    leftovers = try audit.leftovers(before: later)
    for key in leftovers { try store.deleteLeftover(key) }
    unfinished = try store.leftovers(before: later)
    used = try database.read { reader in
      try reader.rows(
        """
        SELECT object_id, content_bytes FROM sync.files WHERE object_id IS NOT NULL
        UNION ALL
        SELECT object_id, content_bytes FROM sync.versions WHERE object_id IS NOT NULL
        """
      ) { row in (try row.id(0), try row.integer(1)) }
    }
    waiting = try database.read { reader in
      try Set(
        reader.rows(
          "SELECT object_id FROM sync.reservations UNION ALL SELECT object_id FROM sync.garbage"
        ) { row in try row.id(0) })
    }
    wrongly = try database.read { reader in
      try reader.rows(
        """
        SELECT kept_bytes FROM sync.accounts AS a WHERE kept_bytes <> (
          SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM sync.garbage
          WHERE owner_id = a.id)
        """
      ) { row in try row.integer(0) }
    }
  }

  func expectSound(leftoverCountMax: Int) throws {
    #expect(leftovers.count <= leftoverCountMax)
    let missing = try used.filter { try store.open($0.object)?.byteCount != $0.byteCount }
    #expect(missing.isEmpty, "rows name objects that the store has not: \(missing)")
    let named = Set(used.map(\.object)).union(waiting)
    #expect(listed.subtracting(named) == [], "objects that no row names")
    #expect(Set(unfinished).subtracting(waiting) == [], "unfinished objects that no row names")
    #expect(wrongly == [], "accounts whose garbage is not what they keep")
  }
}
