import DocumentSimulation
import SeededRandom
import Simulation
import TestEngines
import Testing

/// Compares documents of versions with a model over seeded stories, with a bad network, long absences and crashes.
@Suite struct DocumentTests {
  @Test(arguments: TestEngine.byTurns([1, 2, 3] as [UInt64]))
  func `documents are what the model says, in the stories of fixed seeds`(
    seed: UInt64, engine: TestEngine
  ) throws {
    try tell(seed, engine)
  }

  @Test(arguments: TestEngine.available)
  func `documents are what the model says, in a story never told before`(
    engine: TestEngine
  ) throws {
    try tell(SeededGenerator.seed(of: "documents on \(engine)"), engine)
  }

  private func tell(_ seed: UInt64, _ engine: TestEngine) throws {
    let story = try DocumentStory(engine, seed: seed, SimulationLog())
    do { try story.tell(stepCount: TestRun.isFull ? 900 : 300) } catch {
      Issue.record("COFFER_TEST_SEED=\(seed) on \(engine): \(error)")
      return
    }
    #expect(
      story.storedCount > 50 && story.forgottenCount > 0 && story.crashCount > 0,
      "seed \(seed): little happens")
  }
}
