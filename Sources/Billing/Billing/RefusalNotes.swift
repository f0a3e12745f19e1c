import Base
import Ledger
import Storage
import Subscriptions

/// Refused deliveries that are not in the database yet. However much a stranger sends, it costs the database one
/// short write a second. Any thread may call it.
package final class RefusalNotes: Sendable {
  private struct State {
    var latest: [RefusedDelivery] = []
    var counts: [String: RefusalCount] = [:]
  }

  private let database: Database
  private let state = Locked(State())

  init(_ database: Database) { self.database = database }

  func add(_ refused: RefusedDelivery) {
    state.withLock { state in
      if state.latest.count >= Refusals.keptCountMax { state.latest.removeFirst() }
      state.latest.append(refused)
      let name = "\(refused.provider.rawValue):\(refused.reason)"
      let known = state.counts[name]
      state.counts[name] = RefusalCount(
        provider: refused.provider, reason: refused.reason, count: (known?.count ?? 0) + 1,
        first: known?.first ?? refused.at, last: refused.at)
    }
  }

  /// Writes the refused deliveries, if any. What cannot be written is kept for the next time.
  package func write() throws {
    let taken = state.withLock { state in
      defer { state = State() }
      return state
    }
    guard !taken.counts.isEmpty else { return }
    let counts = taken.counts.sorted { $0.key < $1.key }.map(\.value)
    do {
      try database.write(for: nil) { transaction in
        try Refusals.write(taken.latest, counts, in: transaction)
      }
    } catch {
      giveBack(taken)
      throw error
    }
  }

  private func giveBack(_ taken: State) {
    state.withLock { state in
      state.latest = Array((taken.latest + state.latest).suffix(Refusals.keptCountMax))
      state.counts.merge(taken.counts) { newer, older in
        RefusalCount(
          provider: older.provider, reason: older.reason, count: older.count + newer.count,
          first: older.first, last: newer.last)
      }
    }
  }
}
