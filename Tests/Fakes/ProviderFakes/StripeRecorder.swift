import Base
package import JSON

extension FakeStripe: RecordedStore {
  package var sold: [String] { subscriptions }

  package func claim(of subscription: String) -> JSONValue {
    ["provider": "stripe", "subscription": .string(subscription)]
  }

  package var serverSettings: [(key: String, value: String)] {
    let texts = secrets.map { String(decoding: $0.exposed, as: UTF8.self) }
    return [("COFFER_STRIPE_WEBHOOK_SECRETS", texts.joined(separator: ","))]
  }

  package var source: String {
    let newest = "Stripe's published OpenAPI fixtures of API 2026-07-29.dahlia"
    let shape =
      switch settings.version {
      case .dahlia: "\(newest) and the webhook documentation"
      case .endive:
        "\(newest), with what Stripe's API changelog adds up to \(settings.version.rawValue)"
      case .y2020, .acacia, .basil:
        "\(newest), taken back to \(settings.version.rawValue) by Stripe's API changelog"
      }
    return "Shape: \(shape). Values: written by us."
  }
}

package typealias StripeRecorder = StoryRecorder<FakeStripe>

/// A story's endpoint gets only the events that the story delivers.
extension StoryRecorder<FakeStripe> {
  /// Delivers the oldest waiting event of that type, or the newest.
  func tell(_ type: String, _ expected: StoryExpectation, newest: Bool = false) {
    let events = waiting.filter { $0.store.type(of: $0.delivery) == type }
    guard let event = newest ? events.last : events.first else {
      preconditionFailure("Stripe has not told of \(type)")
    }
    arrive(event, expected)
  }

  func subscription(_ kind: String, _ expected: StoryExpectation, newest: Bool = false) {
    tell("customer.subscription.\(kind)", expected, newest: newest)
  }

  func invoice(_ kind: String, _ expected: StoryExpectation, newest: Bool = false) {
    tell("invoice.\(kind)", expected, newest: newest)
  }

  func session(_ kind: String, _ expected: StoryExpectation) {
    tell("checkout.session.\(kind)", expected)
  }

  /// Delivers the newest payment: since basil the only delivery that connects it with its invoice.
  func payment(_ expected: StoryExpectation) {
    if isBasil { tell("invoice_payment.paid", expected, newest: true) }
  }

  /// Signed again, with both secrets of a rotation, and with other counters.
  func retry(_ type: String, _ expected: StoryExpectation) {
    repeatEvent(type, expected, answer: "duplicate", rotates: true) {
      $0.replacing("pending_webhooks", with: 2)
    }
  }

  /// The same id with a different content: one of its times is changed.
  func contradict(
    _ type: String, _ moment: Instant, with other: Instant, _ expected: StoryExpectation
  ) {
    repeatEvent(type, expected, answer: "conflicting", rotates: false) {
      $0.replacing(.seconds(moment), with: .seconds(other))
    }
  }

  private func repeatEvent(
    _ type: String, _ expected: StoryExpectation, answer: String, rotates: Bool,
    _ change: (JSONValue) -> JSONValue
  ) {
    guard let delivery = arrived(type) else { preconditionFailure("\(type) was not told") }
    let body = change(store.event(of: delivery)).indented()
    let next = store.secrets.map { Secret($0.exposed + Array("Next".utf8)) }
    arrive(type, sent: clock.now, expected, answer: answer) {
      store.request(body, at: $0, signedWith: (rotates ? next : []) + store.secrets)
    }
  }

  var isBasil: Bool { store.settings.version.isBasil }

  func periodEnd(_ subscription: String) -> Instant { store.periodEnd(of: subscription) }
}

extension JSONValue {
  /// A copy with `other` in place of every `value`.
  fileprivate func replacing(_ value: JSONValue, with other: JSONValue) -> JSONValue {
    switch self {
    case value: other
    case .array(let elements): .array(elements.map { $0.replacing(value, with: other) })
    case .object(let members):
      .object(members.map { .init($0.name, $0.value.replacing(value, with: other)) })
    case .null, .bool, .integer, .string: self
    }
  }
}
