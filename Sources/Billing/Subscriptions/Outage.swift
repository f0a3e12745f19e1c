package import Base
import Tiers

/// Keeps time alone from ending access while the store does not answer.
extension Coverage {
  /// The coverage with each leeway extended that was running when reads began to fail, or began since.
  ///
  /// A leeway is extended only after a period that was in force, not after grace or a purchase that was never
  /// paid for. `longest` counts from the end of that period. No leeway is extended beyond `date`.
  func carriedOn(
    unansweredSince start: Instant, longest: Instant.Span, upTo date: Instant?
  ) -> Coverage {
    let leeways = intervals.filter { $0.why == .leeway && start < $0.to && followsEntitlement($0) }
    let latest: Instant = date ?? .distantFuture
    let added = leeways.map {
      Interval(
        planID: $0.planID, from: $0.to, to: min($0.from + longest, latest), why: .storeUnreachable,
        evidence: $0.evidence)
    }.filter { $0.from < $0.to }
    guard let end = added.map({ $0.to }).max() else { return self }
    let replaced = Set(added.map { $0.from })
    return Coverage(
      intervals: intervals + added,
      endings: endings.map { ending in
        replaced.contains(ending.at) ? Schedule.Ending(at: end, reason: ending.reason) : ending
      }, alarms: alarms)
  }

  /// Whether the period that ends when the leeway begins was paid, forgiven or a trial, and nothing
  /// of the plan comes after the leeway.
  private func followsEntitlement(_ leeway: Interval) -> Bool {
    let ofPlan = intervals.filter { $0.planID == leeway.planID && $0 != leeway }
    return !ofPlan.contains { $0.to > leeway.to }
      && ofPlan.contains { $0.to == leeway.from && $0.why.isPaidFor }
  }

  /// When to check next for a renewal that was not reported; nil while none is expected.
  package func nextRenewalCheck(after now: Instant) -> Instant? {
    intervals.filter { $0.why == .leeway }.flatMap { leeway in
      // At once, when a store's own bill is an hour old, and shortly before the leeway is over.
      [leeway.from, leeway.from + .hours(2), leeway.to - .hours(1)].filter {
        leeway.from <= $0 && $0 < leeway.to
      }
    }.filter { $0 > now }.min()
  }

  /// Whether a period is over at `now` whose renewal is expected and was not seen.
  package func awaitsRenewal(at now: Instant) -> Bool {
    intervals.contains {
      ($0.why == .leeway || $0.why == .storeUnreachable) && $0.contains(now)
    }
  }

  /// Whether all known access is over at `now`, and the last of it was waiting for a renewal.
  package func lacksRenewal(at now: Instant) -> Bool {
    guard let last = intervals.max(by: { $0.to < $1.to }) else { return false }
    return (last.why == .leeway || last.why == .storeUnreachable) && last.to <= now
  }
}
