internal import Base
internal import SeededRandom
package import Simulation

/// What a seed lets go wrong around a story, whose own choices stay as they are.
package final class Weather {
  package let log: SimulationLog
  private var random: SeededGenerator

  package init(seed: UInt64, _ log: SimulationLog) {
    // Not the story's own numbers once more.
    random = SeededGenerator(seed: seed ^ 0x5EED_0FBA_DC0F_FEE5)
    self.log = log
  }

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  /// Between two requests: after the commit of the one before, or before the answer got out.
  func crash(_ server: TreeServer, likely: Bool = false) throws {
    guard chance(likely ? 50 : 3) else { return }
    log.write(server.now, "crash")
    try server.crash()
  }

  /// Sends a request while the disk is full, sometimes; whether it failed for that.
  ///
  /// Fewer bytes fit than a commit takes, so a batch that would have been accepted cannot be. An
  /// answer other than 503 is a refusal, or of a request without an effect.
  func isRefusedByFullDisk(
    _ server: TreeServer, _ send: () throws -> (status: Int, problem: String?)
  ) throws -> Bool {
    guard chance(8) else { return false }
    let byteCount = Int.random(in: 0..<4096, using: &random)
    let answer = try FullDisk.within(byteCount: byteCount, send)
    log.write(
      server.now, "disk full at \(byteCount) bytes: \(answer.status) \(answer.problem ?? "")")
    if (200..<300).contains(answer.status) {
      throw Story.Mismatch(description: "answered \(answer.status) though the disk was full")
    }
    return answer.status == 503
  }
}
