import Base

/// The story of one customer at Stripe, with the state expected after each delivery; recorded in several API
/// versions.
package struct StripeRecording: Sendable, CustomStringConvertible {
  /// The folder's name.
  package let name: String
  package let title: String
  private let settings: @Sendable (inout StripeSettings) -> Void
  private let script: @Sendable (StripeRecorder) -> Void

  init(
    _ name: String, _ title: String,
    settings: @escaping @Sendable (inout StripeSettings) -> Void = { _ in },
    _ script: @escaping @Sendable (StripeRecorder) -> Void
  ) {
    self.name = name
    self.title = title
    self.settings = settings
    self.script = script
  }

  package var description: String { name }

  /// The stories that are recorded in a version: for endive its own, and the first two for comparison.
  package static func all(in version: StripeVersion) -> [StripeRecording] {
    version == .endive ? buying.prefix(2) + endive : told
  }

  private static let told =
    buying + failing + changing + ending + reversing + adding + arranging + bridging

  package func record(in version: StripeVersion) -> StripeRecorder {
    var settings = StripeSettings(version)
    let path = "stripe/\(version.rawValue)/\(name)"
    settings.seed = path
    settings.events = .all
    self.settings(&settings)
    let recorder = StripeRecorder(path, start: start(in: version)) { clock, _ in
      FakeStripe(
        clock, settings, secrets: [Secret("whsec_test_\(stripeLetters("secret" + path, 24))")])
    }
    script(recorder)
    return recorder
  }

  /// Each customer buys a day after the one before, and before the 29th, a day that every month has.
  private func start(in version: StripeVersion) -> Instant {
    let place = Self.all(in: version).firstIndex { $0.name == name } ?? 0
    let (months, days) = place.quotientAndRemainder(dividingBy: 22)
    return version.firstDay.adding(months: Int64(months)) + .days(Int64(days))
      + .minutes(7 * Int64(days))
  }
}

extension StripeVersion {
  /// At ten o'clock on the version's first day.
  fileprivate var firstDay: Instant {
    switch self {
    case .y2020: Instant(seconds: 1_767_607_200)  // 2026-01-05
    case .acacia: Instant(seconds: 1_770_112_800)  // 2026-02-03
    case .basil: Instant(seconds: 1_772_445_600)  // 2026-03-02
    case .dahlia: Instant(seconds: 1_785_751_200)  // 2026-08-03
    case .endive: Instant(seconds: 1_793_613_600)  // 2026-11-02
    }
  }
}

extension StoryExpectation {
  static let pending = free("never_subscribed", "pending")
  static let subscribed = premium()
  static let leeway = premium("leeway")
  static let grace = premium("grace", "grace")
  static let trial = premium("trial", "trialing")
  static let courtesy = premium("courtesy")
  static let contested = premium("contested")
  static let lapsed = free("lapsed", "renewal_pending")
  static let ended = free("lapsed", "expired")
  static let paused = free("lapsed", "paused")
  static let unpaid = free("payment_failed", "on_hold")
  static let unpaidEnded = free("payment_failed", "expired")
  static let revoked = free("refunded", "revoked")
  /// Ended before anything was paid.
  static let neverPaid = free("never_subscribed", "expired")

  static let leewaySpan = Instant.Span.hours(26)
  static let graceSpan = Instant.Span.days(7)
}

/// Steps that many stories share.
extension StoryRecorder<FakeStripe> {
  /// The first purchase by card, in the order usual for the version. Returns the subscription.
  func buy(
    _ price: StripePrice = .premiumMonthly, with additions: [StripePrice] = [],
    paid: StoryExpectation = .subscribed
  ) -> String {
    time(clock.now - .minutes(5), .nobody)
    let page = store.openCheckout(account: account, price, with: additions)
    let sub = store.complete(checkout: page)
    guard isBasil else {
      subscription("created", .pending)
      invoice("paid", paid)
      subscription("updated", paid)
      session("completed", paid)
      return sub
    }
    // The subscription is made only after the payment, so it begins active.
    session("completed", .pending)
    // Active without a known invoice: a day of leeway, until the invoice arrives or is read.
    subscription("created", paid.unseen)
    invoice("paid", paid)
    return sub
  }

  /// The first purchase, with its payment's delivery.
  func buyAndPay() -> String {
    let sub = buy()
    payment(.subscribed)
    return sub
  }

  /// The second month begins, its card payment fails, and grace begins. Returns the subscription and the
  /// beginning of the month.
  func failRenewal() -> (subscription: String, renewed: Instant) {
    let sub = buy()
    let renewed = periodEnd(sub)
    store.setCard(of: sub, .declines)
    go(to: renewed)
    subscription("updated", .leeway)
    go(to: renewed + .hours(1))
    invoice("payment_failed", .grace)
    subscription("updated", .grace)
    return (sub, renewed)
  }

  /// The customer cancels in the portal: with the flag, or only with a date.
  func cancel(_ sub: String, on date: Instant? = nil) {
    store.cancel(sub, on: date)
    subscription("updated", .subscribed)
    go(.seconds(7))
    store.giveFeedback(sub, "unused")
    subscription("updated", .subscribed)
  }

  /// Refunds an invoice, as each version reports it. Returns the refund.
  @discardableResult
  func giveBack(
    _ invoice: String, _ expected: StoryExpectation, amount: Int64? = nil
  ) -> String {
    let refund = store.refund(invoice: invoice, amount)
    if store.settings.version.hasRefundEvents { tell("refund.created", expected) }
    tell("charge.refunded", expected)
    return refund
  }
}

extension StoryExpectation {
  /// The expectation for an active subscription whose invoice has not been reported.
  fileprivate var unseen: Self {
    guard reason == "subscribed" else { return self }
    var copy = Self(plan: plan, reason: "leeway", labels: labels)
    copy.addOnCount = addOnCount
    return copy
  }
}
