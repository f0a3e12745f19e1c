import BillingSimulation
import Simulation
import TestEngines
import Testing

/// Some seeds of `ops/simulate buying`.
struct BuyingStormTests {
  @Test(arguments: 1...(TestRun.isFull ? 200 : 6) as ClosedRange<UInt64>)
  func `an account pays for one subscription at a time and has what it pays for`(
    seed: UInt64
  ) throws {
    let log = SimulationLog()
    do { try BuyingStorm.run(seed: seed, log) } catch {
      Issue.record("seed \(seed): \(error)\n\(log.text)")
    }
  }
}
