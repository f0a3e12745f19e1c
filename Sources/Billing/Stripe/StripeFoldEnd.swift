import Base
import Subscriptions
import Tiers

extension StripeFold {
  /// The subscription's own end is exact. The deletion of its customer stands in for it only until
  /// the end is seen. `canceled_at` proves nothing: it is when cancelling was requested.
  static func endedAt(
    _ snapshot: Mirror<StripeSubscription>.Observation?, customerDeletedAt: Instant?
  ) -> Instant? {
    guard let snapshot, snapshot.content.isEnded else { return customerDeletedAt }
    return snapshot.content.endedAt ?? snapshot.asOf.from
  }

  /// When it ended, or will end by a dated cancellation. Access ends without a further event.
  var end: Instant? { endedAt ?? snapshot?.content.cancelAt }

  func ended(_ interval: Coverage.Interval) -> Coverage.Interval {
    end.map { interval.ending(at: $0) } ?? interval
  }

  /// The reason of each end that no interval follows. The intervals must be sorted.
  func endings(of intervals: [Coverage.Interval]) -> [Schedule.Ending] {
    var endings: [Schedule.Ending] = []
    var last: Instant?
    for interval in intervals {
      if let moment = last, moment < interval.from {
        endings.append(ending(at: moment, of: intervals))
      }
      last = max(last ?? interval.to, interval.to)
    }
    if let last, last < .distantFuture {
      endings.append(ending(at: last, of: intervals, isLast: true))
    }
    // A period that was taken back from its very start has no interval that could end.
    for line in billed {
      if let reversal = line.reversal, reversal.at <= line.from, line.from < line.to {
        endings.append(Schedule.Ending(at: reversal.at, reason: reversal.reason))
      }
    }
    return endings
  }

  private func ending(
    at moment: Instant, of intervals: [Coverage.Interval], isLast: Bool = false
  ) -> Schedule.Ending {
    let reversals = billed.compactMap { line in
      line.from <= moment && moment < line.to ? line.reversal : nil
    }.filter { $0.at <= moment }
    if let reason = reversals.map({ $0.reason }).min(by: { $0.precedence < $1.precedence }) {
      return Schedule.Ending(at: moment, reason: reason)
    }
    let failed =
      paymentFailed(at: moment) || isLast && failureEndedIt
      || intervals.contains { $0.to == moment && $0.why == .grace }
    return Schedule.Ending(at: moment, reason: failed ? .paymentFailed : .lapsed)
  }

  private func paymentFailed(at moment: Instant) -> Bool {
    invoices.contains { invoice in
      let isUnpaid = invoice.content.isFailing || invoice.content.status == .uncollectible
      return isUnpaid
        && invoice.tierLines.contains { $0.line.from <= moment && moment < $0.line.to }
    }
  }

  private var failureEndedIt: Bool {
    guard let content = snapshot?.content else { return false }
    return content.endedByFailedPayment || content.status == .unpaid || paymentStatus == .overdue
  }
}
