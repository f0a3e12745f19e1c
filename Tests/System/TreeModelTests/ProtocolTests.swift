import ChainSimulation
import DocumentSimulation
import LogSimulation
import MailboxSimulation
import SeededRandom
import Simulation
import TestEngines
import Testing

/// Compares the other protocols with models over seeded stories, with a bad network, wrong clocks, long absences and
/// crashes.
@Suite struct ProtocolTests {
  enum Kind: CaseIterable {
    case chains, documents, logs, mailboxes

    /// Tells the story of a seed. Returns whether enough happened in it.
    func tell(_ seed: UInt64, _ engine: TestEngine) throws -> Bool {
      let times = TestRun.isFull ? 3 : 1
      switch self {
      case .chains:
        let story = try ChainStory(engine, seed: seed, isConcurrent: true, SimulationLog())
        try story.tell(stepCount: 250 * times)
        return story.appendedCount > 30 && story.forkCount > 0 && story.revokedCount > 0
          && story.crashCount > 0
      case .documents:
        let story = try DocumentStory(engine, seed: seed, SimulationLog())
        try story.tell(stepCount: 300 * times)
        return story.storedCount > 50 && story.forgottenCount > 0 && story.crashCount > 0
      case .logs:
        let story = try LogStory(engine, seed: seed, SimulationLog())
        try story.tell(stepCount: 300 * times)
        return story.appendedCount > 50 && story.epochCount > 0 && story.sharedCount > 0
          && story.crashCount > 0
      case .mailboxes:
        let story = try MailboxStory(engine, seed: seed, SimulationLog())
        try story.tell(stepCount: 400 * times)
        return story.storedCount > 50 && story.expiredCount > 0 && story.givenCount > 5
          && story.crashCount > 0
      }
    }
  }

  /// The story of a seed on an engine.
  struct StoryRun: CustomTestStringConvertible {
    let kind: Kind
    let seed: UInt64
    let engine: TestEngine

    var testDescription: String { "\(kind), seed \(seed), on \(engine)" }

    static let fixed: [StoryRun] = Kind.allCases.flatMap { kind in
      TestEngine.byTurns([1, 2] as [UInt64]).map { seed, engine in
        StoryRun(kind: kind, seed: seed, engine: engine)
      }
    }
  }

  @Test(arguments: StoryRun.fixed)
  func `a protocol is what its model says, in the stories of fixed seeds`(story: StoryRun) {
    let isEventful = tell(story)
    #expect(isEventful, "\(story.testDescription): little happens")
  }

  @Test(arguments: Kind.allCases, TestEngine.available)
  func `a protocol is what its model says, in a story never told before`(
    kind: Kind, engine: TestEngine
  ) {
    tell(
      StoryRun(kind: kind, seed: SeededGenerator.seed(of: "\(kind) on \(engine)"), engine: engine))
  }

  /// Returns whether enough happened, or an issue was recorded.
  @discardableResult
  private func tell(_ story: StoryRun) -> Bool {
    do {
      return try story.kind.tell(story.seed, story.engine)
    } catch {
      Issue.record(
        "\(story.kind), COFFER_TEST_SEED=\(story.seed) on \(story.engine): \(error)")
      return true
    }
  }
}
