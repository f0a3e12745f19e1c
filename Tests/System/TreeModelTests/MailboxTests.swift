import MailboxSimulation
import SeededRandom
import Simulation
import TestEngines
import Testing

/// Compares mailboxes and key packages with a model over seeded stories, with a bad network, long absences and crashes.
@Suite struct MailboxTests {
  @Test(arguments: TestEngine.byTurns([1, 2, 3] as [UInt64]))
  func `mailboxes are what the model says, in the stories of fixed seeds`(
    seed: UInt64, engine: TestEngine
  ) throws {
    try tell(seed, engine)
  }

  @Test(arguments: TestEngine.available)
  func `mailboxes are what the model says, in a story never told before`(
    engine: TestEngine
  ) throws {
    try tell(SeededGenerator.seed(of: "mailboxes on \(engine)"), engine)
  }

  private func tell(_ seed: UInt64, _ engine: TestEngine) throws {
    let story = try MailboxStory(engine, seed: seed, SimulationLog())
    do { try story.tell(stepCount: TestRun.isFull ? 1200 : 400) } catch {
      Issue.record("COFFER_TEST_SEED=\(seed) on \(engine): \(error)")
      return
    }
    #expect(
      story.storedCount > 50 && story.expiredCount > 0 && story.givenCount > 5
        && story.crashCount > 0, "seed \(seed): little happens")
  }
}
