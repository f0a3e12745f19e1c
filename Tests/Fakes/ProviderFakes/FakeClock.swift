package import Base

/// The virtual time that a test's stores share; the test moves it, only forward.
package final class FakeClock: Sendable {
  private let state: Locked<Instant>

  package init(_ start: Instant) { state = Locked(start) }

  package var now: Instant { state.withLock { $0 } }

  /// The time as a `Clock`.
  package var clock: Clock { Clock { self.now } }

  package func set(_ moment: Instant) {
    state.withLock { now in
      precondition(now <= moment, "virtual time does not go back")
      now = moment
    }
  }

  package func advance(by span: Instant.Span) { set(now + span) }
}
