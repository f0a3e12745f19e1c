package import Simulation
import TestEngines

extension Story {
  /// Plays a seed's story in bad weather. Throws if server and model differ. At times it fills the disk for
  /// the whole process.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    let story = try Story(.sqlite, seed: seed, weather: Weather(seed: seed, log))
    try story.tell(stepCount: 300)
  }
}
