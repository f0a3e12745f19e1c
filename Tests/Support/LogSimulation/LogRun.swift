package import Simulation

/// `ops/simulate logs`.
package enum LogRun {
  /// Plays a seed's story. Throws if programs and model differ.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    try LogStory(seed: seed, log).tell(stepCount: 300)
  }
}
