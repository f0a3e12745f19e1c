package import Base
internal import Crypto

/// A story being told: what happens at the server, step by step with what our server must then say.
///
/// Deliveries arrive two seconds after they were sent; steps are at whole seconds. What a step
/// expects is held against the till as it is told.
package final class BTCPayRecorder {
  package let clock: FakeClock
  package let store: FakeBTCPay
  package let account: Identifier
  package private(set) var steps: [Step] = []
  private var arrived: Set<FakeDelivery> = []
  private var last: Instant

  package struct Step: Sendable {
    package let at: Instant
    /// Nil where only the clock moves.
    package let delivery: FakeDelivery?
    package let expected: BTCPayExpectation
    /// What the till owes then.
    package let owed: Set<String>
  }

  init(_ path: String, start: Instant) {
    let digest = SHA256.hash(Array(path.utf8))
    clock = FakeClock(start)
    last = start - .hours(1)
    var settings = FakeBTCPay.Settings()
    settings.seed = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    store = FakeBTCPay(clock: clock, settings: settings)
    var bytes = Array(digest.suffix(16))
    // Version 4, variant 1: as our server makes them.
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    account = Identifier(bytes: bytes)!
  }

  /// Only the clock moves, to the first whole second at or after `moment`.
  func time(_ moment: Instant, _ expected: BTCPayExpectation) { step(at: moment, nil, expected) }

  /// Steps a second before `moment` and right at it.
  func edge(_ moment: Instant, _ before: BTCPayExpectation, _ after: BTCPayExpectation) {
    time(Instant(seconds: (moment - .milliseconds(1)).seconds), before)
    time(moment, after)
  }

  func go(_ span: Instant.Span) { clock.advance(by: span) }
  func go(to moment: Instant) { clock.set(moment) }

  /// Everything told and not yet delivered arrives, each with its own expectation.
  func deliver(_ expected: BTCPayExpectation...) {
    let news = store.deliveries.filter { !arrived.contains($0) }
    let names = news.map { store.type(of: $0) }
    precondition(news.count == expected.count, "\(news.count) deliveries wait: \(names)")
    for (delivery, expected) in zip(news, expected) { arrive(delivery, expected) }
  }

  /// Everything that waits arrives, however much it is; one expectation holds throughout.
  func deliverAll(_ expected: BTCPayExpectation) {
    for delivery in store.deliveries where !arrived.contains(delivery) {
      arrive(delivery, expected)
    }
  }

  /// The same delivery once more: the server did not see our answer.
  func repeatLast(_ expected: BTCPayExpectation) {
    guard let delivery = store.deliveries.last(where: { arrived.contains($0) }) else { return }
    arrive(delivery, expected)
  }

  private func arrive(_ delivery: FakeDelivery, _ expected: BTCPayExpectation) {
    arrived.insert(delivery)
    step(
      at: max(delivery.emitted + .seconds(2), last + .seconds(1), clock.now), delivery, expected)
    store.answered(delivery, status: 200)
  }

  private func step(
    at moment: Instant, _ delivery: FakeDelivery?, _ expected: BTCPayExpectation
  ) {
    let at = Instant(seconds: (moment + .milliseconds(999)).seconds)
    precondition(last <= at, "steps are in order")
    last = at
    clock.set(max(clock.now, at))
    let owed = store.truths(of: account).filter { $0.from <= at && at < $0.to }.map {
      $0.product.plan
    }
    steps.append(Step(at: at, delivery: delivery, expected: expected, owed: Set(owed)))
  }
}

/// What the account has after a step of a story.
package struct BTCPayExpectation: Sendable {
  package let plan: String
  package let reason: String
  /// Of the account's subscription.
  package let labels: [String]
  /// How many add-ons come on top.
  package var addOnCount: Int64 = 0

  package static func premium(_ reason: String = "subscribed", _ labels: String...) -> Self {
    Self(plan: "premium", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
  }
  package static func plus(_ reason: String = "subscribed", _ labels: String...) -> Self {
    Self(plan: "plus", reason: reason, labels: labels.isEmpty ? ["active"] : labels)
  }
  package static func free(_ reason: String, _ labels: String...) -> Self {
    Self(plan: "free", reason: reason, labels: labels)
  }
  /// Nothing yet.
  package static let nobody = free("never_subscribed")

  /// With an add-on of two gigabytes.
  package var extra: Self {
    var copy = self
    copy.addOnCount += 1
    return copy
  }
}
