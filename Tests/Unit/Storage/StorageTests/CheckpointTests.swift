import Base
import Storage
import TestEngines
import Testing

@Suite struct CheckpointTests {
  @Test func `the log stays bounded under a steady load of writes and reads`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open {
      $0.logFrameCountWanted = 100
      $0.logFrameCountMax = 500
    }
    defer { database.close() }
    let isOver = Locked(false)
    let reader = Thread {
      while !isOver.withLock({ $0 }) { _ = Result { try database.itemIDs() } }
    }
    let writers = (0..<4).map { number in
      Thread {
        for index in 0..<400 {
          let body = [UInt8](repeating: 1, count: 20_000)
          _ = Result { try database.insertItem(index * 4 + number, body: body) }
        }
      }
    }
    for writer in writers { writer.join() }
    isOver.withLock { $0 = true }
    reader.join()
    // 1,600 items are at least 8,000 pages of log. Because the log is restarted in time, the file stays far
    // smaller.
    #expect(try database.itemIDs().count == 1600)
    #expect(fileSize("\(scratch.directory.path)/database/sync.db-wal") < 3000 * 4120)
  }

  @Test func `a clean close leaves everything in the file and no log`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open()
    for id in 1...50 { try database.insertItem(id) }
    database.close()
    #expect(fileSize("\(scratch.directory.path)/database/sync.db-wal") == 0)
    let again = try scratch.open()
    defer { again.close() }
    #expect(try again.itemIDs() == Array(1...50))
  }

  @Test func `the owner's clean close leaves the other program reading`() throws {
    let scratch = try ScratchDatabase(.sqlite)
    let billing = try scratch.open(.billing)
    defer { billing.close() }
    let sync = try scratch.open(.sync)
    try sync.insertItem(1)
    #expect(try billing.itemIDs() == [1])
    sync.close()
    #expect(try billing.itemIDs() == [1])
    let again = try scratch.open(.sync)
    defer { again.close() }
    try again.insertItem(2)
    #expect(try billing.itemIDs() == [1, 2])
  }
}
