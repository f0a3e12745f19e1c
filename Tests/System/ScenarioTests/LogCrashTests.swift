import Base
import Configuration
import Glibc
import JSON
import LocalServer
import SeededRandom
import TestDevices
import TestEngines
import Testing

/// `coffer-sync` after `kill -9` in the middle of appends, snapshots and epochs of message logs, also by clients of
/// Actual: every message that it ever acknowledged is there, charged right, and a repeat of the last request succeeds.
@Suite(.serialized) struct LogCrashTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  @Test(arguments: TestEngine.available)
  func `a crash loses no message that was acknowledged, and no epoch`(engine: TestEngine) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "log crash, \(engine)"))
    let plans = try scratch.write(ContentWriter.catalogue, to: "plans.json")
    let installation = try Installation(
      engine, settings: ["COFFER_PLANS": plans, "COFFER_REQUESTS_PER_SECOND": "1000000"])
    var sync = try installation.start(.sync)
    let writers = try (0..<4).map { index in
      try LogWriter(installation.device(of: sync), node: index, seed: random.next())
    }
    for _ in 0..<Crashes.count(of: engine) {
      let threads = writers.map { writer in Thread { writer.writeUntilLost() } }
      usleep(UInt32.random(in: 100_000..<500_000, using: &random))
      sync.kill()
      for thread in threads { thread.join() }
      sync = try installation.start(.sync, port: sync.port)
      for writer in writers { try writer.checkAfterCrash() }
    }
    #expect(writers.allSatisfy { $0.acknowledgedCount > 0 })
    #expect(writers.contains { $0.epochCount > 0 })
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try TreeStormTests.expectNothingToCorrect(installation)
    let found = try installation.command("doctor", "--all", "--objects")
    #expect(found.end == .exited(0), "\(found.output)")
  }

  @Test(arguments: TestEngine.available)
  func `a crash loses nothing that a client of Actual was answered`(engine: TestEngine) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "crash at the door, \(engine)"))
    let plans = try scratch.write(ContentWriter.catalogue, to: "plans.json")
    let port = Ports.free()
    let installation = try Installation(
      engine,
      settings: [
        "COFFER_PLANS": plans, "COFFER_REQUESTS_PER_SECOND": "1000000",
        "COFFER_ACTUAL_AUTHORITIES": "127.0.0.1:\(port)",
      ])
    var sync = try installation.start(.sync, port: port)
    let writers = try (0..<3).map { index in
      let account = try installation.device(of: sync).account.description
      let made = try installation.command("app-password", "create", account, "--json")
      let password = try JSON.parse(Array(made.output.utf8))["password"].requireString()
      return try ActualWriter(sync, password: password, node: index, seed: random.next())
    }
    for _ in 0..<Crashes.count(of: engine) {
      let threads = writers.map { writer in Thread { writer.writeUntilLost() } }
      usleep(UInt32.random(in: 100_000..<500_000, using: &random))
      sync.kill()
      for thread in threads { thread.join() }
      sync = try installation.start(.sync, port: port)
      for writer in writers { try writer.checkAfterCrash() }
    }
    #expect(writers.allSatisfy { $0.syncCount > 0 })
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    try TreeStormTests.expectNothingToCorrect(installation)
    let found = try installation.command("doctor", "--all", "--objects")
    #expect(found.end == .exited(0), "\(found.output)")
  }
}
