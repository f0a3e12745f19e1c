import Stripe
import Subscriptions
import Testing

/// Items that change within a paid period and are billed with the next one (`proration_behavior`
/// `create_prorations` or `none`): a choice holds until another choice or a payment.
struct PlanChoiceTests {
  /// A change on day 10 of a month that was paid.
  struct Change: CustomTestStringConvertible {
    let name: String
    let before: [String: String]
    let after: [String: String]
    let cap: Int64

    var testDescription: String { name }
  }

  static let changes = [
    Change(
      name: "upgrade", before: ["si_1": "price_small"], after: ["si_1": "price_premium"], cap: 1000),
    Change(
      name: "upgrade by another item", before: ["si_1": "price_small"],
      after: ["si_7": "price_premium"], cap: 1000),
    Change(
      name: "downgrade", before: ["si_1": "price_premium"], after: ["si_1": "price_small"], cap: 100
    ),
    Change(
      name: "addition added", before: ["si_1": "price_premium"],
      after: ["si_1": "price_premium", "si_2": "price_extra"], cap: 1050),
    Change(
      name: "addition removed", before: ["si_1": "price_premium", "si_2": "price_extra"],
      after: ["si_1": "price_premium"], cap: 1000),
    Change(
      name: "interval", before: ["si_1": "price_premium"], after: ["si_1": "price_premium_year"],
      cap: 1000),
  ]

  /// What is known of the renewal before it is paid.
  enum Renewal: CaseIterable {
    case told, draftFirst, draftAlone, lost, failed, readLate
  }

  /// Whether the next invoice shows the change, and whether its lines name their items.
  enum Prorations: CaseIterable { case none, named, unnamed }

  private static func lines(
    _ items: [String: String], from: Double, to: Double, sign: Int64 = 1, naming: Bool = true
  ) -> [StripeInvoice.Line] {
    items.sorted { $0.key < $1.key }.map {
      line($0.value, 100 * sign, from: from, to: to, item: naming ? $0.key : nil)
    }
  }

  private static func renewal(
    _ day: Double, _ status: StripeInvoice.Status, _ change: Change, _ prorations: Prorations
  ) -> Story.Delivery {
    let gone = change.before.filter { change.after[$0.key] != $0.value }
    let come = change.after.filter { change.before[$0.key] != $0.value }
    let isNamed = prorations == .named
    let told =
      lines(gone, from: 10, to: 30, sign: -1, naming: isNamed)
      + lines(come, from: 10, to: 30, naming: isNamed)
    return invoice(
      day, "in_9", status,
      billing: (prorations == .none ? [] : told) + lines(change.after, from: 30, to: 60),
      isAttempted: status != .draft, made: 30)
  }

  private static func story(
    _ change: Change, _ renewal: Renewal, _ prorations: Prorations
  ) -> [Story.Delivery] {
    let bought = [
      subscription(0, .active, items: change.before),
      invoice(0, "in_1", .paid, billing: lines(change.before, from: 0, to: 30)),
      subscription(10, .active, items: change.after),
    ]
    let told = subscription(30.001, .active, items: change.after)
    let draft = Self.renewal(30.001, .draft, change, prorations)
    switch renewal {
    case .told: return bought + [told]
    case .draftFirst: return bought + [told, draft]
    case .draftAlone: return bought + [draft]
    case .lost: return bought
    case .failed:
      return bought + [
        told, subscription(30.04, .pastDue, items: change.after),
        Self.renewal(30.04, .open, change, prorations),
      ]
    case .readLate: return bought + [subscription(30.8, .active, items: change.after), draft]
    }
  }

  @Test(arguments: changes, Renewal.allCases)
  func `what was chosen holds while its first payment is awaited`(
    change: Change, renewal: Renewal
  ) {
    for prorations in Prorations.allCases {
      let story = Story(Self.story(change, renewal, prorations))
      #expect(story.caps(day: 29.9) == change.cap, "\(prorations)")
      #expect(story.caps(day: 30.05) == change.cap, "\(prorations)")
      #expect(story.caps(day: 31) == change.cap, "\(prorations)")
      if renewal == .failed {
        #expect(story.caps(day: 36.9) == change.cap, "\(prorations)")
        #expect(story.caps(day: 37.1) == 10, "\(prorations)")
      }
      let paid = Story(story.deliveries + [Self.renewal(31, .paid, change, prorations)])
      #expect(paid.caps(day: 31.1) == change.cap, "\(prorations)")
      #expect(paid.caps(day: 59) == change.cap, "\(prorations)")
    }
  }

  @Test(arguments: changes, Renewal.allCases)
  func `no order of deliveries changes what is owed`(change: Change, renewal: Renewal) {
    for prorations in Prorations.allCases {
      let story = Story(Self.story(change, renewal, prorations))
      let expected = story.coverage
      for order in Array(story.deliveries.indices).permutations {
        let coverage = story.record(order: order).coverage(
          policy: story.policy, catalogue: catalogue)
        #expect(coverage == expected, "\(prorations), \(order)")
      }
    }
  }

  @Test(arguments: changes, Prorations.allCases)
  func `whether a read told again what was known changes nothing, the past included`(
    change: Change, prorations: Prorations
  ) {
    let story = Self.story(change, .draftAlone, prorations)
    let read = subscription(30.5, .active, items: change.after)
    #expect(Story(story).caps.first == Story(story + [read]).caps.first)
    let paid = story + [Self.renewal(31, .paid, change, prorations)]
    #expect(
      Story(paid).caps.filter { !$0.contains("leeway") }
        == Story(paid + [subscription(32, .active, items: change.after)]).caps.filter {
          !$0.contains("leeway")
        })
  }

  @Test(arguments: changes)
  func `what a schedule changed with the period leaves the period before as it was`(
    change: Change
  ) {
    let story = Story([
      subscription(0, .active, items: change.before),
      invoice(0, "in_1", .paid, billing: Self.lines(change.before, from: 0, to: 30)),
      subscription(30.001, .active, items: change.after, schedule: "sub_sched_1"),
    ])
    let before = Story(Array(story.deliveries.prefix(2))).caps(day: 29)
    #expect(story.caps(day: 29) == before)
    #expect(story.caps(day: 30.05) == change.cap)
  }

  @Test func `an upgrade that was never paid leaves the paid plan to the renewal's grace`() {
    let (small, premium) = (["si_1": "price_small"], ["si_1": "price_premium"])
    let story = Story([
      subscription(0, .active, items: small),
      invoice(0, "in_1", .paid, billing: Self.lines(small, from: 0, to: 30)),
      invoice(
        10, "in_2", .open,
        billing: Self.lines(small, from: 10, to: 30, sign: -1)
          + Self.lines(premium, from: 10, to: 30), isCycle: false),
      subscription(10, .pastDue, items: premium),
      subscription(30.04, .pastDue, items: premium),
      invoice(30.04, "in_9", .open, billing: Self.lines(premium, from: 30, to: 60), made: 30),
    ])
    #expect(story.caps(day: 11) == 100)
    #expect(story.caps(day: 31) == 100)
  }
}
