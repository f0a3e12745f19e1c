package import Base
import Crypto

/// A fake BTCPay server in virtual time: it requests and takes payments, notifies, and knows the truth.
///
/// Every operation first performs what is due by the clock, at whole seconds. One that no one could perform,
/// such as marking an invoice that settled by itself, traps: the test is wrong. Safe on any thread.
package final class FakeBTCPay: Sendable {
  package let clock: FakeClock
  package let settings: Settings
  /// The faults of the API.
  package let faults = FakeFaults()
  let state: Locked<State>

  package struct Settings: Sendable {
    package var storeID = "4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P"
    package var webhookID = "Hq7mZs4TnVbXc2RkPw9DyJ"
    package var secret = Secret("fake-btcpay-webhook-secret")
    package var apiKey = Secret("fake0btcpay0key0fake0btcpay0key0fake0btc")
    /// The webhook's `specificEvents`.
    package var events: Set<String> = [
      "InvoiceCreated", "InvoiceProcessing", "InvoiceSettled", "InvoiceExpired",
      "InvoiceExpiredPaidPartial", "InvoicePaidAfterExpiration", "InvoiceInvalid",
      "InvoicePaymentSettled", "InvoiceRefund", "PayoutUpdated",
    ]
    package var expiration = Instant.Span.hours(1)
    /// How long after the expiration payments may still be confirmed.
    package var monitoring = Instant.Span.days(1)
    /// Determines the ids of invoices, deliveries and payments.
    package var seed: UInt64 = 1

    package init() {}
  }

  struct State: Sendable {
    var world: BTCPayWorld
    /// The worlds before each operation, ascending.
    fileprivate var history: [BTCPayWorld]
    var queue = BTCPayQueue()
    var secret: Secret
    /// When our server could first know that an invoice had settled, by invoice.
    var heard: [String: Instant] = [:]
    fileprivate var toldCount = 0

    fileprivate mutating func tell(_ types: Set<String>) {
      for event in world.events[toldCount...] where types.contains(event.type) {
        queue.enqueue(event, secret: secret)
      }
      toldCount = world.events.count
    }

    fileprivate mutating func keepHistory() {
      if history.last?.now == world.now { history.removeLast() }
      history.append(world)
    }

    mutating func hear(_ invoice: String, settledAt moment: Instant) {
      heard[invoice] = min(heard[invoice] ?? moment, moment)
    }
  }

  package init(clock: FakeClock, settings: Settings = Settings()) {
    self.clock = clock
    self.settings = settings
    let world = BTCPayWorld(now: Instant(seconds: clock.now.seconds), seed: settings.seed)
    state = Locked(State(world: world, history: [world], secret: settings.secret))
  }

  /// Performs an operation at the clock's time, after everything that was due, and queues the events of both.
  @discardableResult
  func act<Result>(_ body: (inout State) -> Result) -> Result {
    let now = clock.now
    return state.withLock { state in
      state.world.run(until: now)
      state.tell(settings.events)
      let result = body(&state)
      state.tell(settings.events)
      state.keepHistory()
      return result
    }
  }

  /// The store as it was at a moment, or as it will be if no one does anything.
  func world(asOf moment: Instant) -> BTCPayWorld {
    state.withLock { state in
      var world = state.history.last { $0.now <= moment } ?? state.history[0]
      world.run(until: moment)
      return world
    }
  }

  /// Performs what is due by the clock.
  package func catchUp() { act { _ in } }

  // MARK: deliveries

  /// All deliveries so far, oldest first.
  package var deliveries: [FakeDelivery] {
    act { state in state.queue.ids.map { Self.delivery($0, state) } }
  }

  /// The delivery to send now: one at a time, because a failing one holds up the rest.
  package var dueDelivery: FakeDelivery? {
    let now = clock.now
    return act { state in state.queue.due(at: now).map { Self.delivery($0, state) } }
  }

  private static func delivery(_ id: String, _ state: State) -> FakeDelivery {
    FakeDelivery(id: id, provider: "btcpay", emitted: state.queue.rows[id]!.event.at)
  }

  package func type(of delivery: FakeDelivery) -> String {
    state.withLock { $0.queue.rows[delivery.id]?.event.type ?? "" }
  }

  /// The next attempt to deliver: the first as it was queued, every later one a redelivery.
  package func request(for delivery: FakeDelivery, at moment: Instant) -> FakeRequest {
    let (body, secret) = state.withLock { state in
      let row = state.queue.attempt(delivery.id)
      let isFirst = row.attemptCount == 0
      let name = isFirst ? delivery.id : state.world.nextID()
      return (
        row.event.body(store: settings.storeID, webhook: settings.webhookID, delivery: name),
        isFirst ? row.secret : state.secret
      )
    }
    return Self.request(body, secret: secret)
  }

  /// A delivery from someone who knows that secret.
  package static func request(_ body: [UInt8], secret: Secret) -> FakeRequest {
    FakeRequest(
      method: "POST", path: "/webhooks/btcpay",
      headers: [
        ("Content-Type", "application/json"), ("User-Agent", "BTCPayServer/2.4.7"),
        ("BTCPay-Sig", "sha256=" + Hex.encode(HMACSHA256.code(key: secret, body))),
      ], body: body)
  }

  /// Records the receiver's status, 0 for no answer.
  package func answered(_ delivery: FakeDelivery, status: Int) {
    let now = clock.now
    state.withLock { state in
      state.queue.answered(delivery.id, status: status, at: now)
      guard (200..<300).contains(status) else { return }
      let event = state.queue.rows[delivery.id]!.event
      if event.type == "InvoiceSettled", let invoice = event.invoice {
        state.hear(invoice, settledAt: event.at)
      }
    }
  }

  /// Sends everything that is due and records the answers; returns the number of attempts.
  @discardableResult
  package func deliver(_ send: (FakeRequest) -> Int) -> Int {
    var count = 0
    while let delivery = dueDelivery {
      answered(delivery, status: send(request(for: delivery, at: clock.now)))
      count += 1
    }
    return count
  }
}
