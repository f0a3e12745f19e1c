import Base
import Configuration
import Glibc
import SeededRandom
import TestEngines
import Testing

/// `coffer-sync` after `kill -9` under load: it still has everything that it ever answered with 200.
@Suite(.serialized) struct SyncCrashTests {
  @Test(arguments: TestEngine.available, TestStore.all)
  func `a crash loses no content that was acknowledged`(
    engine: TestEngine, store: TestStore
  ) throws {
    let name = "sync crash, \(engine), \(store.testDescription)"
    var random = SeededGenerator(seed: SeededGenerator.seed(of: name))
    let installation = try Installation(engine, settings: store.settings)
    var sync = try installation.start(.sync)
    let port = sync.port
    var writers: [Writer] = []
    for _ in 0..<Crashes.count(of: engine) {
      // Each crash has its own accounts, so that each is checked separately.
      let fresh = try (0..<4).map { _ in
        try Writer(installation.device(of: sync), seed: random.next())
      }
      let threads = fresh.map { writer in Thread { writer.writeUntilLost() } }
      usleep(UInt32.random(in: 100_000..<400_000, using: &random))
      sync.kill()
      for thread in threads { thread.join() }
      sync = try installation.start(.sync, port: port)
      for writer in fresh { try writer.checkAfterCrash() }
      writers += fresh
    }
    for writer in writers { try writer.check() }
    #expect(writers.reduce(0) { $0 + $1.acknowledgedCount } > 0)
    #expect(sync.stop() == .exited(0))
    try Books(installation).expectWhole(accountCount: writers.count)
  }
}

/// The number of times that a test kills a program.
enum Crashes {
  /// At least 50 in a full run as a whole, however few engines there are.
  static func count(of engine: TestEngine) -> Int {
    guard TestRun.isFull else { return 3 }
    switch engine {
    case .sqlite: return 30
    case .postgres: return 5
    }
  }
}
