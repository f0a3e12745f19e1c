import SeededRandom
package import Simulation

/// The failures that a seed causes around a story, without changing the story's own choices.
package final class Weather {
  package let log: SimulationLog
  private var random: SeededGenerator

  package init(seed: UInt64, _ log: SimulationLog) {
    // Not the same numbers as the story's.
    random = SeededGenerator(seed: seed ^ 0x5EED_0FBA_DC0F_FEE5)
    self.log = log
  }

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  /// Crashes between two requests: after the previous commit, or before its answer was sent.
  func crash(_ server: TreeServer, likely: Bool = false) throws {
    guard chance(likely ? 50 : 3) else { return }
    log.write(server.now, "crash")
    try server.crash()
  }

  /// Sometimes sends a request while the disk is full. Returns whether the request failed because of that.
  ///
  /// There is room for fewer bytes than a commit takes, so no batch can be accepted. An answer other than 503
  /// is a refusal, or belongs to a request without an effect.
  func isRefusedByFullDisk(
    _ server: TreeServer, _ send: () throws -> (status: Int, problem: String?)
  ) throws -> Bool {
    guard chance(8) else { return false }
    let byteCount = Int.random(in: 0..<4096, using: &random)
    let answer = try FullDisk.within(byteCount: byteCount, send)
    log.write(
      server.now, "disk full at \(byteCount) bytes: \(answer.status) \(answer.problem ?? "")")
    if (200..<300).contains(answer.status) {
      throw Mismatch("answered \(answer.status) though the disk was full")
    }
    return answer.status == 503
  }
}
