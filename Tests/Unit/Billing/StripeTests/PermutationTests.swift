import Stripe
import Subscriptions
import Testing

/// Every order, not only a sample.
struct PermutationTests {
  static let stories: [Story] = [
    Story([
      subscription(0, .incomplete), subscription(0, .active),
      invoice(0, "in_1", .open, from: 0, to: 30, isCycle: false),
      invoice(0, "in_1", .paid, from: 0, to: 30, isCycle: false),
      subscription(30, .canceled, endedAt: 30),
    ]),
    Story([
      subscription(0, .active), invoice(0, "in_1", .paid, from: 0, to: 30),
      subscription(30, .active), invoice(30.1, "in_2", .open, from: 30, to: 60),
      subscription(30.2, .pastDue), invoice(33, "in_2", .paid, from: 30, to: 60),
    ]),
    Story([
      subscription(0, .trialing, trial: 0...14),
      invoice(0, "in_1", .paid, lines: [("price_premium", 0, 0, 14)], isCycle: false),
      subscription(14, .pastDue, trial: 0...14), invoice(14, "in_2", .open, from: 14, to: 44),
      subscription(16, .canceled, endedAt: 16, endedByFailedPayment: true, trial: 0...14),
    ]),
    Story([
      subscription(0, .active, price: "price_small"),
      invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)]),
      invoice(10, "in_2", .paid, lines: [("price_premium", 200, 10, 30)], isCycle: false),
      subscription(10, .active, price: "price_premium"),
      subscription(12, .active, price: "price_premium", cancelAtPeriodEnd: true),
      subscription(12, .active, price: "price_premium"),
    ]),
  ]

  @Test(arguments: 0..<4)
  func `every order, and every order twice over, gives one answer`(index: Int) {
    let story = Self.stories[index]
    let indices = Array(story.deliveries.indices)
    let expected = Answer(story, order: indices)
    for order in Array(indices).permutations {
      let record = story.record(order: order)
      #expect(record == story.record, "order \(order)")
      #expect(Answer(story, order: order + order.reversed()) == expected, "order \(order)")
    }
  }
}

extension Array {
  /// The elements in every order.
  var permutations: [[Element]] {
    guard !isEmpty else { return [[]] }
    return indices.flatMap { index in
      var others = self
      let first = others.remove(at: index)
      return others.permutations.map { [first] + $0 }
    }
  }
}
