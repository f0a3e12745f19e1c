import ContentSimulation
import SeededRandom
import Simulation
import TestEngines
import Testing

/// Compares contents with a model over seeded stories, with mishaps of the store and crashes between any two steps.
@Suite struct ContentTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `contents are what the model says, in the stories of fixed seeds`(seed: UInt64) throws {
    try tell(seed)
  }

  @Test func `contents are what the model says, in a story never told before`() throws {
    try tell(SeededGenerator.seed(of: "contents"))
  }

  private func tell(_ seed: UInt64) throws {
    let story = try ContentStory(seed: seed, SimulationLog())
    do { try story.tell(stepCount: TestRun.isFull ? 900 : 300) } catch {
      Issue.record("COFFER_TEST_SEED=\(seed): \(error)")
      return
    }
    #expect(story.acceptedCount > 30 && story.crashCount > 3, "seed \(seed): little happens")
  }

  @Test(arguments: ContentMistake.allCases)
  func `a mistake that was put in on purpose is noticed within a few stories`(
    mistake: ContentMistake
  ) throws {
    let isNoticed = try (1...20 as ClosedRange<UInt64>).contains { seed in
      do {
        try ContentStory(seed: seed, mistake: mistake, SimulationLog()).tell(stepCount: 180)
        return false
      } catch is Mismatch {
        return true
      }
    }
    #expect(isNoticed)
  }
}
