package import Base
import HTTPServer

/// Counts the open streams. A seat is taken before the response, and is free again when its last holder goes.
///
/// Whoever comes when all are taken is refused. Otherwise an account's devices would end each other's streams for ever.
package final class Seats: Sendable {
  package final class Seat: Sendable {
    fileprivate let account: Identifier
    /// Nil if the address is not counted.
    fileprivate let network: String?
    private let seats: Seats

    fileprivate init(_ account: Identifier, _ network: String?, _ seats: Seats) {
      self.account = account
      self.network = network
      self.seats = seats
    }

    deinit { seats.free(self) }
  }

  private struct State {
    var count = 0
    var accounts: [Identifier: Int] = [:]
    var networks: [String: Int] = [:]
  }

  private let state = Locked(State())
  private let limits: StreamLimits
  private let trustsProxies: Bool

  /// Without trusted proxies this machine's own addresses are not counted: an unknown proxy's clients come from there.
  package init(_ limits: StreamLimits, trustsProxies: Bool) {
    self.limits = limits
    self.trustsProxies = trustsProxies
  }

  package func take(for account: Identifier, from address: String) throws(StreamRefusal) -> Seat {
    let isCounted = trustsProxies || !ClientNetwork.isLocal(address)
    let network = isCounted ? ClientNetwork.of(address) : nil
    do throws(StreamRefusal) {
      try take(for: account, in: network)
    } catch {
      StreamMetrics.refuse(error)
      throw error
    }
    StreamMetrics.open.add(1)
    return Seat(account, network, self)
  }

  private func take(for account: Identifier, in network: String?) throws(StreamRefusal) {
    let limits = limits
    try state.withLock { state throws(StreamRefusal) in
      guard state.count < limits.countMax else { throw .full }
      guard state.accounts[account, default: 0] < limits.countPerAccountMax else {
        throw .tooManyOfAccount(max: limits.countPerAccountMax)
      }
      if let network {
        guard state.networks[network, default: 0] < limits.countPerAddressMax else {
          throw .tooManyOfAddress(max: limits.countPerAddressMax)
        }
        state.networks[network, default: 0] += 1
      }
      state.accounts[account, default: 0] += 1
      state.count += 1
    }
  }

  private func free(_ seat: Seat) {
    state.withLock { state in
      state.count -= 1
      state.accounts[seat.account].countDown()
      if let network = seat.network { state.networks[network].countDown() }
    }
    StreamMetrics.open.add(-1)
  }
}

extension Optional<Int> {
  fileprivate mutating func countDown() { self = self.flatMap { $0 > 1 ? $0 - 1 : nil } }
}
