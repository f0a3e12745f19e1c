package import Base

/// The virtual time that several stores of one test share; a test moves it, and only forward.
package final class FakeClock: Sendable {
  private let state: Locked<Instant>

  package init(_ start: Instant) { state = Locked(start) }

  package var now: Instant { state.withLock { $0 } }

  /// For what takes a clock of ours.
  package var clock: Clock { Clock { self.now } }

  package func set(_ moment: Instant) {
    state.withLock { now in
      precondition(now <= moment, "virtual time does not go back")
      now = moment
    }
  }

  package func advance(by span: Instant.Span) { set(now + span) }
}
