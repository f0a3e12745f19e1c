package import Simulation

/// `ops/simulate chains`.
package enum ChainRun {
  /// Plays a seed's story. Throws if programs and model differ.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    try ChainStory(seed: seed, log).tell(stepCount: 250)
  }
}
