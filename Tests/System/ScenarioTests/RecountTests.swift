import Base
import Configuration
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

@Suite struct RecountTests {
  @Test(arguments: TestEngine.available)
  func `an operator corrects a wrong total while devices write`(engine: TestEngine) throws {
    let installation = try Installation(engine)
    let sync = try installation.start(.sync)
    let writers = try (0..<4).map { index in
      try Writer(installation.device(of: sync), seed: UInt64(index))
    }
    let wrong = try writers[0].device.account
    try addToTotal(of: wrong, 4321, in: installation)
    let isStopped = Locked(false)
    let threads = writers.map { writer in
      Thread { while !isStopped.withLock({ $0 }) { writer.write(times: 5) } }
    }
    let before = writers.map(\.acknowledgedCount)
    let all = try installation.command("usage", "recount", "--all", "--json")
    let during = zip(writers, before).map { $0.acknowledgedCount - $1 }
    isStopped.withLock { $0 = true }
    for thread in threads { thread.join() }
    #expect(all.end == .exited(0), "\(all.output)")
    let found = try JSON.parse(Array((all.output.split(separator: "\n").last ?? "").utf8))
    #expect(found["accounts"].integer == 4)
    #expect(found["listed"].array?.map { $0["account"].string } == [wrong.description])
    #expect(during.allSatisfy { $0 > 0 }, "nobody wrote meanwhile: \(during)")
    for writer in writers { try writer.check() }
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try Books(installation).expectWhole(accountCount: 4)
  }

  private func addToTotal(
    of account: Identifier, _ byteCount: Int64, in installation: Installation
  ) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    try database.write(for: account) { transaction in
      _ = try transaction.execute(
        """
        UPDATE sync.accounts SET usage_bytes = usage_bytes + $2, record_count = record_count + 1
        WHERE id = $1
        """, .id(account), .integer(byteCount))
    }
  }
}
