import Base
import SeededRandom
import TestEngines
import Testing
import TreeSimulation

/// Compares the server with the model over seeded stories.
@Suite struct StoryTests {
  private static let stepCount = TestRun.isFull ? 1200 : 300
  /// The time that a long run spends on new stories.
  private static let fullSeconds = 120.0

  /// The last seed once led to a deletion of which a client never learned: it had read half of a folder's
  /// departure.
  @Test(arguments: TestEngine.byTurns([1, 2, 11_571_928_829_321_177_606] as [UInt64]))
  func `server and model agree on the stories of fixed seeds`(
    seed: UInt64, engine: TestEngine
  ) throws {
    try tell(seed, engine)
  }

  @Test(arguments: TestEngine.available)
  func `server and model agree on stories never told before`(engine: TestEngine) throws {
    var seed = SeededGenerator.seed(of: "tree model on \(engine)")
    let start = MonotonicTime.now()
    repeat {
      try tell(seed, engine)
      seed &+= 1
    } while TestRun.isFull && MonotonicTime.now().seconds(since: start) < Self.fullSeconds
  }

  /// A change of so many files is reported by a restart. A client that gets one must miss nothing else.
  @Test(arguments: TestEngine.mainly(.sqlite))
  func `server and model agree where a folder holds more than is told file by file`(
    engine: TestEngine
  ) throws {
    let seed = SeededGenerator.seed(of: "crowded tree model on \(engine)")
    try tell(seed, engine, stepCount: Self.stepCount / 2, crowd: 1000)
  }

  private func tell(
    _ seed: UInt64, _ engine: TestEngine, stepCount: Int = stepCount, crowd: Int = 0
  ) throws {
    let story = try Story(engine, seed: seed, crowd: crowd)
    do {
      try story.tell(stepCount: stepCount)
    } catch {
      Issue.record("COFFER_TEST_SEED=\(seed) on \(engine): \(error)")
      return
    }
    #expect(story.acceptedCount > story.batchCount / 5, "seed \(seed): nothing happens")
  }
}
