import Base
import SeededRandom
import StoreFacts
import Stripe
import Subscriptions
import Testing
import Tiers

/// The algebraic laws that make order and duplicates harmless.
struct LawTests {
  @Test(arguments: 1...400 as ClosedRange<UInt64>)
  func `inserts commute and repeat without effect`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let story = Story.random(count: 12, &random)
    let order = Array(story.deliveries.indices) + story.sample(&random)
    #expect(story.record(order: order.shuffled(using: &random)) == story.record, "seed \(seed)")
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func `every order with duplicates gives one answer`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let story = Story.random(count: 8, &random)
    let expected = Answer(story, order: Array(story.deliveries.indices))
    for _ in 0..<20 {
      let order = Array(story.deliveries.indices) + story.sample(&random)
      #expect(
        Answer(story, order: order.shuffled(using: &random)) == expected, "seed \(seed)")
    }
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func `a label gives access exactly where coverage holds`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let story = Story.random(count: 10, &random)
    let (record, coverage) = (story.record, story.coverage)
    for day in stride(from: -5.0, to: 120, by: 0.5) {
      let label = record.label(coverage, at: at(day))
      #expect(
        label.givesAccess == (coverage.entry(at: at(day)) != nil), "seed \(seed), day \(day)")
    }
  }

  @Test(arguments: 1...400 as ClosedRange<UInt64>)
  func `time alone changes a label only along the clock's own edges`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let story = Story.random(count: 10, &random)
    let (record, coverage) = (story.record, story.coverage)
    // Until the last fact was in, time was not the only cause of changes.
    let start = story.deliveries.map(\.created).max()! - at(0)
    let first = Double(start.milliseconds / 43_200_000) / 2
    var before = record.label(coverage, at: at(first))
    for day in stride(from: first + 0.5, to: 130, by: 0.5) {
      let after = record.label(coverage, at: at(day))
      #expect(
        before == after || before.mayBecomeByClock(after),
        "seed \(seed), day \(day): \(before) to \(after)")
      before = after
    }
  }

  @Test func `a later sight of an earlier stage of life is an alarm and changes nothing`() {
    var mirror = Mirror<StripeCheckoutSession>()
    let done = StripeCheckoutSession(subscription: "sub_1", isOpen: false, account: nil)
    let open = StripeCheckoutSession(subscription: nil, isOpen: true, account: nil)
    mirror.insert(.init(done, asOf: .second(at(0))), delivery: 1)
    let change = mirror.insert(.init(open, asOf: .second(at(1))), delivery: 2)
    #expect(change.rankFell)
    #expect(!change.isNew)
    #expect(mirror.contents == [done])
  }
}

/// Everything that must not depend on the order.
struct Answer: Equatable {
  let coverage: Coverage
  let labels: [Label]
  let ownership: Ownership
  let willRenew: Bool
  let isDirty: Bool
  let schedule: Schedule

  init(_ story: Story, order: [Int]) {
    let record = story.record(order: order)
    let coverage = record.coverage(policy: story.policy, catalogue: catalogue)
    self.coverage = coverage
    labels = stride(from: 0.0, to: 100, by: 3).map { record.label(coverage, at: at($0)) }
    ownership = record.ownership
    willRenew = record.willRenew
    isDirty = record.isDirty
    schedule = Schedule([coverage], catalogue: catalogue)
  }
}

extension Story {
  /// Facts that no provider would send. They must obey the laws all the same.
  static func random(count: Int, _ random: inout SeededGenerator) -> Story {
    Story(
      (0..<count).map { _ in
        // Half days make two facts in the same second likely.
        let day = Double(Int.random(in: 0...60, using: &random)) / 2
        switch Int.random(in: 0...9, using: &random) {
        case 0...3: return state(day, &random)
        case 4...6: return bill(day, &random)
        default: return money(day, &random)
        }
      })
  }

  func sample(_ random: inout SeededGenerator) -> [Int] {
    deliveries.indices.filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
  }

  private static func state(_ day: Double, _ random: inout SeededGenerator) -> Delivery {
    let status = [
      StripeSubscription.Status.incomplete, .trialing, .active, .active, .pastDue, .unpaid,
      .canceled, .paused, .other("new"),
    ].randomElement(using: &random)!
    return subscription(
      day, status, price: price(&random),
      cancelAtPeriodEnd: Int.random(in: 0...3, using: &random) == 0,
      cancelAt: Int.random(in: 0...5, using: &random) == 0 ? day + 20 : nil,
      endedAt: status == .canceled ? day : nil,
      trial: Int.random(in: 0...3, using: &random) == 0 ? 0...14 : nil,
      account: [accountA, accountB, nil].randomElement(using: &random)!)
  }

  private static func bill(_ day: Double, _ random: inout SeededGenerator) -> Delivery {
    let from = Double(Int.random(in: 0...3, using: &random) * 30)
    return invoice(
      day, "in_\(Int.random(in: 1...4, using: &random))",
      StripeInvoice.Status.allCases.randomElement(using: &random)!,
      lines: [
        (price(&random), [0, 299, -100].randomElement(using: &random)!, from, from + 30)
      ], isCycle: Bool.random(using: &random), isAttempted: Bool.random(using: &random),
      payments: [[], [], ["pi_1", "ch_1"], ["pi_2"]].randomElement(using: &random)!)
  }

  /// A payment, a reversal or the deletion of a customer.
  private static func money(_ day: Double, _ random: inout SeededGenerator) -> Delivery {
    let number = Int.random(in: 1...3, using: &random)
    let payment = ["pi_1", "pi_2", nil].randomElement(using: &random)!
    switch Int.random(in: 0...9, using: &random) {
    case 0...2:
      return invoicePayment(
        day, "inpay_\(number)", of: "in_\(number)", by: payment ?? "ch_1",
        StripeInvoicePayment.Status.allCases.randomElement(using: &random)!)
    case 3...5:
      return refund(
        day, "re_\(number)", StripeRefund.Status.allCases.randomElement(using: &random)!,
        amount: [120, 179, 299].randomElement(using: &random)!, of: payment,
        charge: ["ch_1", nil].randomElement(using: &random)!)
    case 6, 7:
      return dispute(
        day,
        [.warningNeedsResponse, .needsResponse, .won, .lost, .prevented, .other("new")]
          .randomElement(using: &random)!,
        of: payment, charge: ["ch_1", nil].randomElement(using: &random)!, id: "du_\(number)")
    case 8:
      return charge(
        day, refunded: [0, 179, 299].randomElement(using: &random)!, of: payment,
        invoice: ["in_1", nil].randomElement(using: &random)!)
    default:
      return Delivery(
        object: .customer(StripeCustomer()), id: "cus_1", created: at(day))
    }
  }

  private static func price(_ random: inout SeededGenerator) -> String {
    ["price_small", "price_premium", "price_premium", "price_shirt", "price_x"]
      .randomElement(using: &random)!
  }
}
