import Base

/// Limits the bytes of bodies and responses in memory, in total and for each client.
final class HeldBytes: Sendable {
  private struct State {
    var total = 0
    var clients: [String: Int] = [:]
  }

  private let state = Locked(State())
  private let totalMax: Int
  private let perClientMax: Int
  private let gauge: Metrics.Gauge

  init(_ limits: ServerLimits, gauge: Metrics.Gauge) {
    totalMax = limits.heldByteCountMax
    perClientMax = limits.heldByteCountPerClientMax
    self.gauge = gauge
  }

  /// Counts bytes as held; false, with nothing counted, if there would be too many. This machine has no share of its
  /// own: behind a proxy that is not configured, all clients come from it.
  ///
  /// `leavesHalf` is for bytes that can be done without: half of the client's share, and of all, stays free.
  func take(_ count: Int, for client: String, leavesHalf: Bool = false) -> Bool {
    let part = leavesHalf ? 2 : 1
    return state.withLock { state in
      let before = state.clients[client] ?? 0
      let fits = before + count <= perClientMax / part || ClientNetwork.isLocal(client)
      guard fits, state.total + count <= totalMax / part else { return false }
      state.total += count
      state.clients[client] = before + count
      gauge.add(Int64(count))
      return true
    }
  }

  func giveBack(_ count: Int, of client: String) {
    guard count > 0 else { return }
    state.withLock { state in
      state.total -= count
      let rest = (state.clients[client] ?? count) - count
      state.clients[client] = rest == 0 ? nil : rest
      gauge.add(-Int64(count))
    }
  }

  var total: Int { state.withLock { $0.total } }
}
