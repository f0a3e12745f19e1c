package import Base
import Crypto
import JSON

/// A fake Stripe in virtual time: it sells, bills, retries and notifies, and knows the truth.
///
/// Every operation first performs what is due by the clock, then its own part, at the clock's whole second.
/// An operation that makes no sense, such as a refund of an unpaid invoice, traps: the story is wrong. Safe
/// on any thread.
package final class FakeStripe: Sendable {
  package let clock: FakeClock
  package let settings: StripeSettings
  /// All active secrets of the webhook endpoint; each one signs.
  package let secrets: [Secret]
  /// The API's key.
  package let key: Secret
  /// The faults of its API.
  package let faults = FakeFaults()
  let state: Locked<State>

  struct State: Sendable {
    var world: StripeWorld
    /// Earlier worlds, each valid from its `now` until the next one's.
    var history: [StripeWorld]
    var deliveries: [FakeDelivery] = []
    var bodies: [String: [UInt8]] = [:]
    var toldEventCount = 0
    /// The answers by idempotency key.
    var obeyed: [String: (meaning: String, answer: FakeAnswer, at: Instant)] = [:]
    /// The truth after each change.
    var truths: [(since: Instant, sales: [StripeSale])] = []
  }

  package init(
    _ clock: FakeClock, _ settings: StripeSettings = StripeSettings(),
    secrets: [Secret] = [Secret("whsec_test_FakeStripeEndpoint0000")],
    key: Secret = Secret("rk_live_FakeStripeKey000000000000")
  ) {
    self.clock = clock
    self.settings = settings
    self.secrets = secrets
    self.key = key
    let world = StripeWorld(settings, now: clock.now)
    state = Locked(State(world: world, history: [world]))
  }

  /// The deliveries to the webhook endpoint, in the order of their events.
  package var deliveries: [FakeDelivery] {
    catchUp()
    return state.withLock { $0.deliveries }
  }

  /// The event's type, for tests' messages.
  package func type(of delivery: FakeDelivery) -> String {
    state.withLock { $0.world.events[delivery.id].type }
  }

  /// One attempt to deliver: always the same body, with a new signature.
  package func request(for delivery: FakeDelivery, at moment: Instant) -> FakeRequest {
    guard let body = state.withLock({ $0.bodies[delivery.id] }) else {
      preconditionFailure("no such delivery: \(delivery.id)")
    }
    return request(body, at: moment, signedWith: secrets)
  }

  /// The event as it was sent.
  func event(of delivery: FakeDelivery) -> JSONValue {
    state.withLock { $0.world.events[delivery.id].json }
  }

  func request(
    _ body: [UInt8], at moment: Instant, signedWith secrets: [Secret]
  ) -> FakeRequest {
    let digits = String(moment.seconds)
    let codes = secrets.map {
      "v1=" + Hex.encode(HMACSHA256.code(key: $0, Array(digits.utf8), [UInt8(ascii: ".")], body))
    }
    return FakeRequest(
      method: "POST", path: "/webhooks/stripe",
      headers: [
        ("Content-Type", "application/json; charset=utf-8"),
        ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"),
        ("Stripe-Signature", (["t=\(digits)"] + codes).joined(separator: ",")),
      ], body: body)
  }

  /// Whether the subscription ends with its period.
  package func isCancelling(_ subscription: String) -> Bool {
    state.withLock { $0.world.subscriptions[subscription].cancelAtPeriodEnd }
  }

  package var refundCount: Int { state.withLock { $0.world.refunds.rows.count } }

  // MARK: Time

  /// Advances time to that moment. Each due step happens at its own time, and the clock moves with it.
  package func run(until moment: Instant) {
    while let due = state.withLock({ $0.world.nextDue(by: moment) }) {
      if clock.now < due { clock.set(due) }
      perform { $0.performNext() }
    }
    if clock.now < moment { clock.set(moment) }
  }

  package func run(for span: Instant.Span) { run(until: clock.now + span) }

  /// Performs what is due after someone else has moved the clock.
  package func catchUp() {
    let now = clock.now
    while state.withLock({ $0.world.nextDue(by: now) }) != nil {
      perform { $0.performNext() }
    }
  }

  /// Performs an operation at the clock's time.
  func operate<Result>(_ body: (inout StripeWorld) -> Result) -> Result {
    catchUp()
    let now = Instant(seconds: clock.now.seconds)
    return perform { world in
      world.now = max(world.now, now)
      return body(&world)
    }
  }

  private func perform<Result>(_ body: (inout StripeWorld) -> Result) -> Result {
    state.withLock { state in
      let result = body(&state.world)
      state.tellNews()
      state.keepHistory()
      state.keepTruth()
      return result
    }
  }
}

extension FakeStripe.State {
  /// Reads lag by less than this.
  private static let historySpan = Instant.Span.hours(1)

  fileprivate mutating func tellNews() {
    let events = world.events.rows
    for event in events[toldEventCount...] where world.settings.events.contains(event.type) {
      deliveries.append(FakeDelivery(id: event.id, provider: "stripe", emitted: event.created))
      bodies[event.id] = event.json.indented()
    }
    toldEventCount = events.count
  }

  fileprivate mutating func keepHistory() {
    if history.last?.now == world.now { history.removeLast() }
    history.append(world)
    let horizon = world.now - Self.historySpan
    while history.count > 1, history[1].now <= horizon { history.removeFirst() }
  }

  fileprivate mutating func keepTruth() {
    let sales = world.subscriptions.rows.flatMap { world.activeSales(of: $0.id) }
    if sales != truths.last?.sales ?? [] { truths.append((world.now, sales)) }
  }

  /// The world at `now` as a replica with that lag shows it.
  func world(at now: Instant, lag: Instant.Span) -> StripeWorld {
    let seen = now - lag
    return history.last { $0.now <= seen } ?? history[0]
  }
}
