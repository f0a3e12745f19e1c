import Base
import Goldens
import StoreFacts
import Stripe
import Subscriptions
import Testing

/// The effect of one more fact on a label, from every possible state: a table to review line by line.
struct GoldenTests {
  private static let now = 16.0

  private struct State: Sendable {
    let name: String
    /// The trial that every snapshot of the subscription also shows.
    var trial: ClosedRange<Double>?
    let deliveries: [Story.Delivery]
  }

  private struct Added: Sendable {
    let name: String
    /// The delivery on that day, for a subscription with that trial.
    let delivery: @Sendable (Double, ClosedRange<Double>?) -> Story.Delivery

    init(
      _ name: String,
      _ delivery: @escaping @Sendable (Double, ClosedRange<Double>?) -> Story.Delivery
    ) {
      self.name = name
      self.delivery = delivery
    }

    init(_ name: String, at delivery: @escaping @Sendable (Double) -> Story.Delivery) {
      self.init(name) { day, _ in delivery(day) }
    }
  }

  private enum Order: String, CaseIterable { case newer, older, tie }

  private static let month = invoice(0, "in_1", .paid, from: 0, to: 30)
  private static let paid = [
    invoice(-30, "in_0", .paid, from: -30, to: 0), month,
    invoicePayment(-30, "inpay_0", of: "in_0", by: "pi_0"),
    invoicePayment(0, "inpay_1", of: "in_1", by: "pi_1"),
  ]
  /// A month that ended on day 12.
  private static let over = [
    invoice(-18, "in_1", .paid, from: -18, to: 12),
    invoicePayment(-18, "inpay_1", of: "in_1", by: "pi_1"),
  ]
  private static let failing = invoice(12, "in_2", .open, from: 12, to: 42)

  private static let states = [
    State(name: "nothing", deliveries: []),
    State(
      name: "first payment missing",
      deliveries: [
        subscription(12, .incomplete), invoice(12, "in_1", .open, from: 0, to: 30, isCycle: false),
      ]),
    State(
      name: "trial", trial: 0...25,
      deliveries: [
        subscription(12, .trialing, trial: 0...25),
        invoice(12, "in_1", .paid, lines: [("price_premium", 0, 0, 25)], isCycle: false),
      ]),
    State(name: "paid", deliveries: paid + [subscription(12, .active)]),
    State(
      name: "paid, will cancel",
      deliveries: paid + [subscription(12, .active, cancelAtPeriodEnd: true)]),
    State(name: "paid, no snapshot", deliveries: paid),
    State(name: "paid over, renewal not seen", deliveries: over + [subscription(12, .active)]),
    State(name: "renewal failing", deliveries: over + [failing, subscription(12, .pastDue)]),
    State(name: "retries exhausted", deliveries: over + [failing, subscription(12, .unpaid)]),
    State(
      name: "ended by failure",
      deliveries: over + [
        failing, subscription(12, .canceled, endedAt: 12, endedByFailedPayment: true),
      ]),
    State(
      name: "ended by the customer",
      deliveries: over + [subscription(12, .canceled, endedAt: 12)]),
    State(
      name: "trial over without a card", trial: -2...12,
      deliveries: [subscription(12, .paused, trial: -2...12)]),
    State(
      name: "upgrade unpaid",
      deliveries: [
        invoice(0, "in_1", .paid, lines: [("price_small", 99, 0, 30)], payments: ["pi_1"]),
        invoice(12, "in_2", .open, lines: [("price_premium", 200, 12, 30)], isCycle: false),
        subscription(12, .pastDue, price: "price_premium"),
      ]),
    State(
      name: "refunded",
      deliveries: paid + [subscription(12, .active), refund(12, "re_1", made: 11)]),
    State(
      name: "dispute lost",
      deliveries: paid + [subscription(12, .active), dispute(12, .lost, made: 11)]),
    State(name: "customer deleted", deliveries: paid + [subscription(12, .active), deleted(12)]),
  ]

  private static let added: [Added] =
    [
      StripeSubscription.Status.incomplete, .incompleteExpired, .active, .pastDue, .unpaid,
      .canceled,
      .paused, .other("new"),
    ].map { status in
      Added("subscription \(status.text)") { day, trial in
        subscription(day, status, endedAt: status == .canceled ? day : nil, trial: trial)
      }
    } + [
      Added("subscription trialing") { day, trial in
        subscription(day, .trialing, trial: trial ?? 0...25)
      },
      Added("subscription will cancel") {
        subscription($0, .active, cancelAtPeriodEnd: true, trial: $1)
      },
      Added("subscription cancel_at today") { subscription($0, .active, cancelAt: 14, trial: $1) },
    ]
    + StripeInvoice.Status.allCases.map { status in
      Added("next invoice \(status.rawValue)") {
        invoice($0, "in_2", status, from: 12, to: 42)
      }
    }
    + [
      Added("this invoice paid") { invoice($0, "in_1", .paid, from: 0, to: 30) },
      Added("this invoice void") { invoice($0, "in_1", .void, from: 0, to: 30) },
      Added("payment of this invoice") {
        invoicePayment($0, "inpay_1", of: "in_1", by: "pi_1")
      },
      Added("charge, all refunded") { charge($0, refunded: 299) },
      Added("refund of a part") { refund($0, "re_1", amount: 50) },
      Added("refund of an earlier period") { refund($0, "re_0", of: "pi_0") },
    ]
    + StripeRefund.Status.allCases.map { status in
      Added("refund \(status.rawValue)") { refund($0, "re_1", status, made: 11) }
    }
    + [
      StripeDispute.Status.warningNeedsResponse, .warningClosed, .needsResponse, .won, .lost,
    ].map { status in
      Added("dispute \(status.text)") { dispute($0, status, made: 11) }
    }
    + [
      Added("customer deleted") { deleted($0) },
      Added("session complete") { day in
        Story.Delivery(
          object: .checkoutSession(
            StripeCheckoutSession(subscription: subscriptionID, isOpen: false, account: accountA)),
          id: "cs_1", created: at(day))
      },
    ]

  private static func deleted(_ day: Double) -> Story.Delivery {
    Story.Delivery(
      object: .customer(StripeCustomer()), id: "cus_1", created: at(day))
  }

  @Test func `one more fact changes the label as reviewed`() throws {
    var tables: [String] = []
    var pairs: [String: Set<String>] = [:]
    for state in Self.states {
      let before = Story(state.deliveries).label(day: Self.now)
      var rows = [
        "\(state.name): \(before.rawValue)", Self.row("", Order.allCases.map(\.rawValue)),
      ]
      for added in Self.added {
        let cells = Order.allCases.map { Self.cell(state, added, $0, before, &pairs) }
        rows.append(Self.row(added.name, cells))
      }
      tables.append(rows.joined(separator: "\n"))
    }
    let summary = Self.added.map { added in
      Self.row(added.name, [(pairs[added.name] ?? []).sorted().joined(separator: ", ")])
    }
    let text = """
      What one fact more does to the label on day 16. A row is the fact; a column says whether it is
      newer than what is known, older, or of the same second as the known value of its object. `=`
      where the label stays, `?` where the object must be read again, `-` where no value is known.

      \(tables.joined(separator: "\n\n"))

      every change, by the fact that can cause it
      \(summary.joined(separator: "\n"))

      """
    try expectGolden(text, "stripe-facts")
  }

  private static func cell(
    _ state: State, _ added: Added, _ order: Order, _ before: Label,
    _ pairs: inout [String: Set<String>]
  ) -> String {
    let probe = added.delivery(0, nil)
    let known = state.deliveries.last { $0.id == probe.id && $0.object.kind == probe.object.kind }
    let day: Double
    switch order {
    case .newer: day = 13
    case .older: day = -31
    case .tie:
      guard let known else { return "-" }
      day = Double((known.created - at(0)).milliseconds) / 86_400_000
    }
    let story = Story(state.deliveries + [added.delivery(day, state.trial)])
    let after = story.label(day: now)
    #expect(
      after.givesAccess == (story.coverage.entry(at: at(now)) != nil),
      "\(state.name), \(added.name)")
    if after != before {
      pairs[added.name, default: []].insert("\(before.rawValue) > \(after.rawValue)")
    }
    return (after == before ? "=" : after.rawValue) + (story.record.isDirty ? " ?" : "")
  }

  private static func row(_ name: String, _ cells: [String]) -> String {
    func padded(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(1, width - text.count))
    }
    let text = "  " + padded(name, 34) + cells.map { padded($0, 13) }.joined()
    return String(text.reversed().drop { $0 == " " }.reversed())
  }

  @Test func `time alone changes a label as reviewed`() throws {
    let rows = Label.allCases.map { label in
      let next = Label.allCases.filter { $0 != label && label.mayBecomeByClock($0) }
      return Self.row(label.rawValue, [next.map(\.rawValue).joined(separator: ", ")])
    }
    let text = """
      Into which labels time alone may change a label; every other change needs a fact.

      \(rows.joined(separator: "\n"))

      """
    try expectGolden(text, "clock-edges")
  }
}
