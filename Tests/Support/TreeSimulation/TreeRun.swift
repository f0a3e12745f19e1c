package import Simulation
internal import TestEngines

extension Story {
  /// What a seed makes of a story in bad weather; throws where server and model differ. Fills the disk of
  /// this whole process at times.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    let story = try Story(.sqlite, seed: seed, weather: Weather(seed: seed, log))
    try story.tell(stepCount: 300)
  }
}
