package import Base

/// The log of a simulation, line by line in virtual time: the same bytes for the same seed.
package final class SimulationLog {
  package private(set) var text = ""

  package init() {}

  package func write(_ now: Instant, _ what: String) { text += "\(now) \(what)\n" }
}
