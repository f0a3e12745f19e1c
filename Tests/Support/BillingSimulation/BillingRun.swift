import SeededRandom
package import Simulation
import TestEngines

extension Storm {
  /// Runs one story of one store as the seed decides. Throws if its end differs from the calm run. Fills the
  /// disk of this whole process at times.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    var random = SeededGenerator(seed: seed)
    let story = LivedStory.all[Int.random(in: 0..<LivedStory.all.count, using: &random)]
    let live = story.live()
    log.write(live.end, "\(story.name), with \(live.events.count) events, ends")
    let calm = try calm(live, .sqlite)
    let storm = try Storm(
      live, .sqlite, SeededGenerator(seed: random.next()), fillsDisk: true, log)
    let end =
      story.showsItsPast && Bool.random(using: &random)
      ? try storm.overlapping() : try storm.shuffled(calm.keys)
    let (found, expected) = (try end.digest(), try calm.digest())
    for row in found { log.write(end.now, row) }
    guard found == expected else { throw Wrong(description: difference(found, expected)) }
  }
}
