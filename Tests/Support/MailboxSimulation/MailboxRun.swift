package import Simulation

/// `ops/simulate mailboxes`.
package enum MailboxRun {
  /// Plays a seed's story. Throws if programs and model differ.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    try MailboxStory(seed: seed, log).tell(stepCount: 400)
  }
}
