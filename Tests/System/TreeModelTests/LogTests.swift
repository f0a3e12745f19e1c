import LogSimulation
import SeededRandom
import Simulation
import TestEngines
import Testing

/// Compares message logs with a model over seeded stories, with a bad network, wrong clocks and crashes.
@Suite struct LogTests {
  @Test(arguments: TestEngine.byTurns([1, 2, 3] as [UInt64]))
  func `logs are what the model says, in the stories of fixed seeds`(
    seed: UInt64, engine: TestEngine
  ) throws {
    try tell(seed, engine)
  }

  @Test(arguments: TestEngine.available)
  func `logs are what the model says, in a story never told before`(engine: TestEngine) throws {
    try tell(SeededGenerator.seed(of: "logs on \(engine)"), engine)
  }

  private func tell(_ seed: UInt64, _ engine: TestEngine) throws {
    let story = try LogStory(engine, seed: seed, SimulationLog())
    do { try story.tell(stepCount: TestRun.isFull ? 900 : 300) } catch {
      Issue.record("COFFER_TEST_SEED=\(seed) on \(engine): \(error)")
      return
    }
    #expect(
      story.appendedCount > 50 && story.epochCount > 0 && story.crashCount > 0,
      "seed \(seed): little happens")
  }
}
