package import Base

/// Spares a provider that is down: after failures in a row nothing is sent for a while, then one request probes.
///
/// Only `.transient` failures count. While the circuit is open, `send` throws `.transient` with the remaining time.
package final class CircuitBreaker: ProviderTransport {
  package static let failureCountMax = 5
  package static let cooldown = Instant.Span.seconds(30)

  private let transport: any ProviderTransport
  private let clock: Clock
  private let gauge: Metrics.Gauge
  private let openings: Metrics.Counter
  private let failures: Metrics.Counter
  private let state = Locked(State.closed(failureCount: 0))

  private enum State {
    case closed(failureCount: Int)
    case open(since: Instant)
    case probing
  }

  /// `provider` labels the metrics: one breaker for each provider of a program.
  package init(
    _ transport: any ProviderTransport, provider: String, clock: Clock, metrics: Metrics = .shared
  ) {
    self.transport = transport
    self.clock = clock
    let label = ("provider", provider)
    gauge = metrics.gauge(
      "coffer_provider_circuit_open", "1 while requests to the provider are paused (circuit open).",
      label: label)
    openings = metrics.counter(
      "coffer_provider_circuit_openings_total", "Times the circuit opened.", label: label)
    failures = metrics.counter(
      "coffer_provider_transient_failures_total",
      "Requests that failed temporarily: 429, 5xx, timeouts, no connection.",
      label: label)
  }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    if let wait = holdBack() {
      throw .transient("the provider failed repeatedly and is left alone", retryAfter: wait)
    }
    do throws(APIFailure) {
      let reply = try transport.send(request)
      answered()
      return reply
    } catch {
      if case .transient = error { failed() } else { answered() }
      throw error
    }
  }

  /// Nil if the request may be sent; otherwise how long to wait.
  private func holdBack() -> Instant.Span? {
    let now = clock.now()
    return state.withLock { state in
      switch state {
      case .closed: return nil
      case .probing: return .seconds(1)
      case .open(let since):
        let waited = now - since
        // A clock that was set back must not keep the circuit open for longer.
        if waited >= .seconds(0), waited < Self.cooldown {
          return Instant.Span(milliseconds: Self.cooldown.milliseconds - waited.milliseconds)
        }
        state = .probing
        return nil
      }
    }
  }

  private func answered() {
    state.withLock { state in
      state = .closed(failureCount: 0)
      gauge.set(0)
    }
  }

  private func failed() {
    failures.add()
    let now = clock.now()
    state.withLock { state in
      switch state {
      case .closed(let count) where count + 1 < Self.failureCountMax:
        state = .closed(failureCount: count + 1)
      case .closed, .probing:
        state = .open(since: now)
        openings.add()
        gauge.set(1)
      case .open: break
      }
    }
  }
}
