package import Base
package import Tiers

/// The figures of a month and the twelve before it, summed over subscribers one after another: a few
/// numbers for each segment, whatever the number of subscribers.
package struct MonthlyReport: Equatable, Sendable {
  package let month: Month
  /// The twelve months before it and the month itself, ascending.
  package let months: [Month]
  /// Subscribers of the month, by segment.
  package internal(set) var segments: [Segment: Movement] = [:]
  /// Subscribers of each of `months`, all segments together.
  package internal(set) var movements: [Movement]
  package internal(set) var trials: [Trials]
  package internal(set) var failures: [Failures]
  /// Why subscribers were lost in the month.
  package internal(set) var reasons: [CapReason: Int64] = [:]
  /// Revenue of the month, by currency and segment.
  package internal(set) var revenue: [String: [Segment: Revenue]] = [:]
  /// Revenue of each of `months`, by currency.
  package internal(set) var revenueOfMonths: [String: [Revenue]] = [:]
  /// Payments and reversals of the month whose amount no store reported.
  package internal(set) var untold = Untold()
  /// The time of the first known event of any subscriber.
  package internal(set) var began: Instant?

  /// The end of the count, if the month was not over; nil for a whole month.
  package let toDate: Instant?

  /// A report on the whole month or, if it is not over at `moment`, on its part before that.
  package init(_ month: Month, at moment: Instant = .distantFuture) {
    self.month = month
    toDate = moment < month.end ? moment : nil
    months = (-12...0).map { month.adding($0) }
    movements = months.map { _ in Movement() }
    trials = months.map { _ in Trials() }
    failures = months.map { _ in Failures() }
  }

  /// The month's change of subscribers: `opening + new + returned + changedIn - changedOut - lost`
  /// is `closing`.
  package struct Movement: Hashable, Sendable {
    package internal(set) var opening: Int64 = 0
    /// Subscribers who had never subscribed before.
    package internal(set) var new: Int64 = 0
    /// Subscribers who had been lost before.
    package internal(set) var returned: Int64 = 0
    /// Subscribers who came from another segment.
    package internal(set) var changedIn: Int64 = 0
    package internal(set) var changedOut: Int64 = 0
    package internal(set) var lost: Int64 = 0
    package internal(set) var closing: Int64 = 0
  }

  /// `opening + started - converted - ended` is `closing`.
  package struct Trials: Hashable, Sendable {
    package internal(set) var opening: Int64 = 0
    package internal(set) var started: Int64 = 0
    /// Trials that became subscriptions.
    package internal(set) var converted: Int64 = 0
    /// Trials that did not.
    package internal(set) var ended: Int64 = 0
    package internal(set) var closing: Int64 = 0
  }

  /// Payments in grace or on hold: `opening + failed - recovered - lost` is `closing`.
  package struct Failures: Hashable, Sendable {
    package internal(set) var opening: Int64 = 0
    package internal(set) var failed: Int64 = 0
    package internal(set) var recovered: Int64 = 0
    package internal(set) var lost: Int64 = 0
    package internal(set) var closing: Int64 = 0
  }

  /// Money in one currency.
  package struct Revenue: Hashable, Sendable {
    package internal(set) var paymentCount: Int64 = 0
    package internal(set) var gross = MoneySum.zero
    package internal(set) var refundCount: Int64 = 0
    package internal(set) var refunded = MoneySum.zero
    package internal(set) var disputeCount: Int64 = 0
    /// Money lost to the customers' banks.
    package internal(set) var disputed = MoneySum.zero

    package init() {}

    package var net: MoneySum { gross - refunded - disputed }

    fileprivate mutating func add(_ sum: MoneySum, as kind: Subscriber.Booking.Kind) {
      switch kind {
      case .payment: (paymentCount, gross) = (paymentCount + 1, gross + sum)
      case .refund: (refundCount, refunded) = (refundCount + 1, refunded + sum)
      case .dispute: (disputeCount, disputed) = (disputeCount + 1, disputed + sum)
      }
    }
  }

  package struct Untold: Hashable, Sendable {
    package internal(set) var paymentCount: Int64 = 0
    package internal(set) var reversalCount: Int64 = 0
  }

  /// The end of the count. What happens at this moment, or later, is not counted.
  package var end: Instant { toDate ?? month.end }

  /// The month's revenue in a currency.
  package func revenue(in currency: String) -> Revenue {
    revenueOfMonths[currency]?.last ?? Revenue()
  }

  /// The currencies in which anything moved in these months. The one with most payments in the
  /// month comes first.
  package var currencies: [String] {
    revenueOfMonths.keys.sorted {
      (-revenue(in: $0).paymentCount, $0) < (-revenue(in: $1).paymentCount, $1)
    }
  }

  // MARK: adding

  package mutating func add(_ subscriber: Subscriber) {
    began = [began, subscriber.began].compactMap { $0 }.min()
    addStatus(subscriber.edges(before: end))
    addFailures(subscriber.failures)
    for booking in subscriber.bookings { add(booking) }
  }

  /// The time just before which a month closes.
  private func close(of month: Month) -> Instant { min(month.end, end) }

  private func index(of moment: Instant) -> Int? {
    guard months[0].start <= moment, moment < end else { return nil }
    return months.lastIndex { $0.start <= moment }
  }

  private mutating func addStatus(_ edges: [Subscriber.Edge]) {
    var wasSubscribed = false
    for edge in edges {
      if let index = index(of: edge.at) { count(edge, wasSubscribed, in: index) }
      if edge.after.segment != nil { wasSubscribed = true }
    }
    for (index, month) in months.enumerated() {
      let opening = edges.last { $0.at < month.start }?.after ?? .none
      let closing = edges.last { $0.at < close(of: month) }?.after ?? .none
      if opening == .trial { trials[index].opening += 1 }
      if closing == .trial { trials[index].closing += 1 }
      if opening.segment != nil { movements[index].opening += 1 }
      if closing.segment != nil { movements[index].closing += 1 }
      guard month == self.month else { continue }
      if let segment = opening.segment { segments[segment, default: Movement()].opening += 1 }
      if let segment = closing.segment { segments[segment, default: Movement()].closing += 1 }
    }
  }

  private mutating func count(_ edge: Subscriber.Edge, _ wasSubscribed: Bool, in index: Int) {
    if edge.after == .trial { trials[index].started += 1 }
    if edge.before == .trial {
      if edge.after == .none { trials[index].ended += 1 } else { trials[index].converted += 1 }
    }
    func note(_ segment: Segment?, _ change: (inout Movement) -> Void) {
      change(&movements[index])
      if index == months.count - 1, let segment { change(&segments[segment, default: Movement()]) }
    }
    switch (edge.before.segment, edge.after.segment) {
    case (nil, let segment?):
      note(segment) { if wasSubscribed { $0.returned += 1 } else { $0.new += 1 } }
    case (let segment?, nil):
      note(segment) { $0.lost += 1 }
      if index == months.count - 1 { reasons[edge.reason ?? .lapsed, default: 0] += 1 }
    case (let old?, let new?):
      note(old) { $0.changedOut += 1 }
      note(new) { $0.changedIn += 1 }
    case (nil, nil): break
    }
  }

  private mutating func addFailures(_ all: [Subscriber.Failure]) {
    for failure in all {
      let change: Int64 = failure.became == .failing ? 1 : -1
      for (index, month) in months.enumerated() {
        if failure.at < month.start { failures[index].opening += change }
        if failure.at < close(of: month) { failures[index].closing += change }
      }
      guard let index = index(of: failure.at) else { continue }
      switch failure.became {
      case .failing: failures[index].failed += 1
      case .recovered: failures[index].recovered += 1
      case .lost: failures[index].lost += 1
      }
    }
  }

  private mutating func add(_ booking: Subscriber.Booking) {
    guard let index = index(of: booking.at) else { return }
    let isThisMonth = index == months.count - 1
    guard let amount = booking.amount, let sum = MoneySum(amount) else {
      guard isThisMonth else { return }
      if booking.kind == .payment { untold.paymentCount += 1 } else { untold.reversalCount += 1 }
      return
    }
    // The invoice of a trial is no payment.
    if sum.isZero { return }
    let none = months.map { _ in Revenue() }
    revenueOfMonths[amount.currency, default: none][index].add(sum, as: booking.kind)
    guard isThisMonth else { return }
    revenue[amount.currency, default: [:]][booking.segment, default: Revenue()]
      .add(sum, as: booking.kind)
  }
}
