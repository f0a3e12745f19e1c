import Base
import Objects
import SQLite
import Storage
import TestEngines
import Testing

@Suite(.enabled(if: SmallDisk.isAvailable, "mounting a tmpfs needs root and is refused here"))
struct DiskFullTests {
  @Test func `a full disk refuses what does not fit, harms nothing, and recovers`() throws {
    let disk = try SmallDisk(byteCount: 3 << 20)
    let scratch = try ScratchDatabase(.sqlite, in: disk.path)
    let database = try scratch.open()
    defer { database.close() }
    let outcomes = Collector<(Int, Outcome)>()
    fill(database, outcomes)
    let succeeded = outcomes.current.filter { $0.1 == .success }.map(\.0).sorted()
    let failed = outcomes.current.filter { $0.1 != .success }
    #expect(!succeeded.isEmpty)
    #expect(!failed.isEmpty)
    for (id, outcome) in failed {
      guard case .failure(.unavailable) = outcome else {
        Issue.record("\(id): \(outcome)")
        return
      }
    }
    // Exactly the items that were answered with success are there, complete.
    #expect(try database.itemIDs() == succeeded)
    #expect(try bodyLengths(database) == Array(repeating: 20_000, count: succeeded.count))

    try disk.resize(byteCount: 64 << 20)
    try database.checkWritable()
    for id in 10_000..<10_010 {
      try database.insertItem(id, body: [UInt8](repeating: 1, count: 20_000))
    }
    #expect(try database.itemIDs().count == succeeded.count + 10)
    let check = try SQLiteConnection(
      file: "\(scratch.directory.path)/database/sync.db", busyTimeoutMilliseconds: 1000)
    #expect(try check.integer("SELECT count(*) FROM pragma_integrity_check WHERE 1 = 1") == 1)
    let isIntact =
      "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"
    #expect(try check.integer(isIntact) == 1)
  }

  @Test func `small writes in a batch with one too large succeed`() throws {
    let disk = try SmallDisk(byteCount: 4 << 20)
    let scratch = try ScratchDatabase(.sqlite, in: disk.path)
    let database = try scratch.open()
    defer { database.close() }
    let gate = Gate()
    let outcomes = Collector<(Int, Outcome)>()
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: { _ in
    }
    gate.waitForArrival()
    for id in 1...20 {
      let byteCount = id == 10 ? 8 << 20 : 100
      database.submitWrite(for: nil) { transaction in
        try transaction.execute(
          "INSERT INTO sync.items (id, body) VALUES ($1, $2)", .integer(id),
          .blob([UInt8](repeating: 1, count: byteCount)))
      } completion: {
        outcomes.add((id, Outcome($0)))
      }
    }
    gate.open()
    let failed = outcomes.wait(20).filter { $0.1 != .success }
    #expect(failed.map(\.0) == [10])
    #expect(try database.itemIDs() == (1...20).filter { $0 != 10 })
  }

  @Test func `an upload that does not fit is typed and leaves its space`() throws {
    let disk = try SmallDisk(byteCount: 1 << 20)
    let store = try DirectoryStore(directory: "\(disk.path)/objects")
    let large = try store.create(Identifier(high: 1, low: 1))
    let block = [UInt8](repeating: 7, count: 64 << 10)
    let error = #expect(throws: ObjectStoreError.self) {
      for _ in 0..<100 { try large.write(block) }
    }
    guard case .unavailable = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(throws: ObjectStoreError.self) { try large.finish() }
    let small = try store.create(Identifier(high: 2, low: 2))
    try small.write(block)
    try small.finish()
    #expect(try store.open(Identifier(high: 2, low: 2))?.byteCount == 64 << 10)
  }

  /// Four threads insert items of 20,000 bytes, far more than fit.
  private func fill(_ database: Database, _ outcomes: Collector<(Int, Outcome)>) {
    let threads = (0..<4).map { number in
      Thread {
        for index in 0..<100 {
          let id = index * 4 + number
          let body = [UInt8](repeating: 1, count: 20_000)
          outcomes.add((id, Outcome(Result { try database.insertItem(id, body: body) })))
        }
      }
    }
    for thread in threads { thread.join() }
  }

  private func bodyLengths(_ database: Database) throws -> [Int] {
    try database.read { reader in
      try reader.rows("SELECT length(body) FROM sync.items") { Int(try $0.integer(0)) }
    }
  }
}
