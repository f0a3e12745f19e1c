import Accounts
import Answers
import Storage
import StripeSamples
import TestEngines
import Testing
import Tiers

/// The reason why an account is on the free plan follows from the facts, in whatever order they arrive.
struct FreeReasonTests {
  private static let stories:
    [(name: String, reason: CapReason, events: @Sendable (Customer) -> [SampleEvent])] = [
      (
        "active before its first invoice failed", .neverSubscribed,
        { customer in
          [
            customer.session(), customer.subscription("created", 0) { $0.startDate = day(0) },
            customer.invoice(1, "payment_failed", 0.01),
          ]
        }
      ),
      (
        "active, then never paid", .neverSubscribed,
        { customer in
          [
            customer.session(), customer.subscription("created", 0) { $0.startDate = day(0) },
            customer.subscription("updated", 0.02) { $0.status = "incomplete_expired" },
          ]
        }
      ),
      (
        "paid and over", .lapsed,
        { customer in
          [
            customer.session(), customer.subscription("created", 0) { $0.startDate = day(0) },
            customer.invoice(1, "paid", 0.01),
          ]
        }
      ),
    ]

  @Test(arguments: 0..<3, TestEngine.available)
  func `no order of deliveries makes an account lapse that never had a plan`(
    index: Int, engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let story = Self.stories[index]
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    for (number, order) in orders.enumerated() {
      let customer = Customer(tag: "\(harness.tag)n\(number)z")
      let events = story.events(customer)
      for (hour, step) in order.enumerated() {
        try harness.post(events[step], at: day(0.1 + Double(hour) / 24))
      }
      let later = day(60)
      let told = try harness.explanation(customer.account, at: later).current.reason
      #expect(told == story.reason, "\(story.name) \(order)")
      let cap = try harness.database.read { reader in
        try Cap(reader, customer.account, catalogue: catalogue, now: later)
      }
      #expect(cap.reason == story.reason, "\(story.name) \(order)")
    }
  }
}
