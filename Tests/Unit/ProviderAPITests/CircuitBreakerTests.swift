import Base
import HTTPMessages
import ProviderAPI
import Testing

@Suite struct CircuitBreakerTests {
  private static let down = APIFailure.transient("down", retryAfter: nil)

  /// Gives the answer set by the test, and counts requests.
  private final class Scripted: ProviderTransport {
    let failure = Locked<APIFailure?>(CircuitBreakerTests.down)
    let count = Locked(0)
    /// Called while a request is under way.
    let meanwhile = Locked<(@Sendable () -> Void)?>(nil)

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      count.withLock { $0 += 1 }
      meanwhile.withLock { $0 }?()
      if let failure = failure.withLock({ $0 }) { throw failure }
      return APIReply(status: 200, headers: Headers(), body: [], elapsed: .seconds(0))
    }
  }

  private let transport = Scripted()
  private let now = Locked(Instant(seconds: 1_800_000_000))
  private let metrics = Metrics()
  private let breaker: CircuitBreaker

  init() {
    breaker = CircuitBreaker(
      transport, provider: "apple", clock: Clock { [now] in now.withLock { $0 } },
      metrics: metrics)
  }

  private var sent: Int { transport.count.withLock { $0 } }

  private func pass(_ span: Instant.Span) { now.withLock { $0 = $0 + span } }
  private func answer(_ failure: APIFailure?) { transport.failure.withLock { $0 = failure } }

  @discardableResult
  private static func send(_ breaker: CircuitBreaker) -> APIFailure? {
    do throws(APIFailure) {
      _ = try breaker.send(APIRequest("GET", "https://provider.example/"))
      return nil
    } catch {
      return error
    }
  }

  @discardableResult
  private func send() -> APIFailure? { Self.send(breaker) }

  private func open() { for _ in 0..<5 { send() } }

  @Test func `after five failures in a row nothing is sent`() {
    open()
    #expect(
      send()
        == .transient(
          "the provider failed repeatedly and is left alone", retryAfter: .seconds(30)))
    #expect(sent == 5)
  }

  @Test func `four failures and an answer start the count anew`() {
    for _ in 0..<3 {
      for _ in 0..<4 { send() }
      answer(nil)
      #expect(send() == nil)
      answer(Self.down)
    }
    #expect(sent == 15)
  }

  @Test(arguments: [
    APIFailure.notFound, .gone, .refused(status: 400, ""), .misconfigured(""), .malformed(""),
  ])
  func `an answer we do not like is an answer`(_ failure: APIFailure) {
    for _ in 0..<4 { send() }
    answer(failure)
    for _ in 0..<9 { #expect(send() == failure) }
    #expect(sent == 13)
  }

  @Test func `what is left of the wait is told`() {
    open()
    pass(.seconds(29))
    #expect(
      send()
        == .transient("the provider failed repeatedly and is left alone", retryAfter: .seconds(1)))
  }

  @Test func `after half a minute one answered probe closes it`() {
    open()
    pass(.seconds(30))
    answer(nil)
    for _ in 0..<3 { #expect(send() == nil) }
    #expect(sent == 8)
  }

  @Test func `a failed probe opens it for another half minute`() {
    open()
    pass(.seconds(30))
    #expect(send() == Self.down)
    pass(.seconds(29))
    send()
    #expect(sent == 6)
    pass(.seconds(1))
    send()
    #expect(sent == 7)
  }

  @Test func `nothing goes beside the probe`() {
    open()
    pass(.seconds(30))
    answer(nil)
    let beside = Locked<APIFailure?>(nil)
    transport.meanwhile.withLock {
      $0 = { [breaker] in beside.withLock { $0 = Self.send(breaker) } }
    }
    send()
    #expect(
      beside.withLock { $0 }
        == .transient("the provider failed repeatedly and is left alone", retryAfter: .seconds(1)))
    #expect(sent == 6)
  }

  @Test func `a clock set back lets the probe go at once`() {
    open()
    pass(.days(-1))
    answer(nil)
    #expect(send() == nil)
  }

  @Test func `the gauge shows it`() {
    open()
    #expect(metrics.render().contains("coffer_provider_circuit_open{provider=\"apple\"} 1\n"))
    pass(.seconds(30))
    answer(nil)
    send()
    #expect(metrics.render().contains("coffer_provider_circuit_open{provider=\"apple\"} 0\n"))
  }
}
