import Base

/// The instruments of chains. Call their functions once for a request, when it is done.
package enum ChainMetrics {
  private static let blocks = Metrics.shared.counter(
    "coffer_chain_blocks_total", "Blocks that were appended to chains, besides their roots.")
  private static let lostForks = Metrics.shared.counter(
    "coffer_chain_forks_lost_total",
    "Requests to append blocks that were refused because another block came first.")

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (blocks, lostForks) }

  package static func appended(_ blockCount: Int) { blocks.add(Int64(blockCount)) }

  package static func refused(_ error: any Error) {
    if let refusal = error as? ChainRefusal, case .headChanged = refusal { lostForks.add() }
  }
}
