import BillingSimulation
import SeededRandom
import TestEngines
import Testing

/// The same with a real database: orders, repetitions, losses, crashes and reads in between.
struct DatabaseTests {
  private static let runCount = TestRun.isFull ? 4 : 1

  /// The calm run always uses SQLite, so both engines end with the same rows.
  @Test(arguments: TestEngine.byTurns(LivedStory.all.filter { TestRun.isFull || $0.isShort }))
  func `orders, losses and crashes leave the rows that calm weather leaves`(
    story: LivedStory, engine: TestEngine
  ) throws {
    let live = story.live()
    let calm = try Storm.calm(live, .sqlite)
    let (expected, keys) = (try calm.digest(), try calm.keys)
    #expect(try calm.drift() == [], "\(story.name)")
    var random = SeededGenerator(seed: Seed.of(story.name))
    // On PostgreSQL statements cross a socket, so one run has to be enough.
    for run in 0..<(engine == .sqlite ? Self.runCount : 1) {
      let storm = try Storm(live, engine, SeededGenerator(seed: random.next()))
      let found = try storm.shuffled(keys).digest()
      guard found == expected else {
        Issue.record("\(story.name), run \(run): \(Storm.difference(found, expected))")
        return
      }
    }
  }

  /// Some stores have no as-of: only the number of a read shows which of two answers is newer.
  @Test(arguments: LivedStory.google + LivedStory.btcpay)
  func `notifications, reads and commits that interleave with the store's own time end the same`(
    story: LivedStory
  ) throws {
    let live = story.live()
    let expected = try Storm.calm(live, .sqlite).digest()
    var random = SeededGenerator(seed: Seed.of("in time " + story.name))
    for run in 0..<Self.runCount {
      let storm = try Storm(live, .sqlite, SeededGenerator(seed: random.next()))
      let found = try storm.overlapping().digest()
      guard found == expected else {
        Issue.record("\(story.name), run \(run): \(Storm.difference(found, expected))")
        return
      }
    }
  }
}
