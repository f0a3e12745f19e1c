package import Simulation

/// `ops/simulate documents`.
package enum DocumentRun {
  /// Plays a seed's story. Throws if programs and model differ.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    try DocumentStory(seed: seed, log).tell(stepCount: 300)
  }
}
